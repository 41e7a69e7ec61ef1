/** What pages work out for themselves: what is asked for many, what takes it back, and what is shown together. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { takeoversOf } from './cluster/shards'
import { itemsOf } from './content/release-items'
import { askToDiscardAll, filterOf, filterOfGroup } from './dead/bulk'
import { askForAll, named, takeBack, undoOf, wishesOf as jobWishesOf } from './jobs/bulk'
import { writtenTexts } from './notifications/template'
import type { Question } from '@/parts/Confirm'
import { askForRuns, wishesOf } from './runs/bulk'
import { usedBy } from './settings/secrets'
import { presentFirst } from '@/parts/node'
import { changedLimits } from './queues'

afterEach(() => vi.unstubAllGlobals())

const row = (job_id: string, more: object = {}) => ({ job_id, ...more }) as never

describe('acting on runs', () => {
  it('names the selected ones, some in each call, and leaves skipped occurrences out', () => {
    const rows = [{ run_id: null }, ...Array.from({ length: 201 }, (_, place) => ({ run_id: `r_${place}` }))]
    const wishes = wishesOf('again', { rows, all: false, filters: {} })
    expect(wishes.map((wish) => wish.filter.ids?.length)).toEqual([200, 1])
  })

  it('passes the filters on if all that match are meant, and says so if there are none', () => {
    expect(wishesOf('cancel', { rows: [], all: true, filters: { job: 'a', late: 'true', sort: 'x' } })).toEqual([{ action: 'cancel', filter: { job: 'a', late: true } }])
    expect(wishesOf('cancel', { rows: [], all: true, filters: {} })).toEqual([{ action: 'cancel', filter: { all: true } }])
    const since = { since: '2027-03-01T12:00:00Z', include: 'skipped' }
    expect(wishesOf('cancel', { rows: [], all: true, filters: since })).toEqual([{ action: 'cancel', filter: { ...since, all: true } }])
    expect(wishesOf('again', { rows: [], all: true, filters: since })).toEqual([{ action: 'again', filter: since }])
  })
})

/** Confirm what is asked, again after a failure; what was sent of it, by its Idempotency-Key. */
async function keysOf(asking: (ask: (question: Question) => void) => Promise<void>): Promise<(string | null)[]> {
  const keys: (string | null)[] = []
  const answers = [() => Response.json({ matched: 2, done: 1, cursor: 'x' }), () => Promise.reject(new TypeError('lost'))]
  vi.stubGlobal('fetch', (_: string, { body, headers }: { body: string; headers: Record<string, string> }) => {
    if (body.includes('dry_run')) return Promise.resolve(Response.json({ matched: 2, through: 'j_9', sample: [] }))
    keys.push(headers['Idempotency-Key'] ?? null)
    return Promise.resolve(answers.shift()?.() ?? Response.json({ matched: 2, done: 1, cursor: keys.length === 3 ? 'x' : null }))
  })
  const asked: Question[] = []
  await asking((question) => asked.push(question))
  await expect(asked[0]?.act(undefined)).rejects.toThrow()
  await asked[0]?.act(undefined)
  return keys
}

describe('new runs of many', () => {
  it('are made once, though an answer is lost', async () => {
    const all = { rows: [], all: true, count: 2, filters: {} }
    for (const asking of [(ask: (question: Question) => void) => askForRuns(ask, 'again', all, () => undefined), (ask: (question: Question) => void) => askForAll(ask, 'run', all, () => undefined)]) {
      const [first, second, again, other] = await keysOf(asking)
      expect([again, other]).toEqual([first, second])
      expect(new Set([first, second]).size).toBe(2)
      expect(first).not.toBe(null)
    }
  })
})

describe('acting on jobs', () => {
  it('names the selected ones, some in each call', () => {
    const rows = Array.from({ length: 1001 }, (_, place) => ({ job_id: `j_${place}` }))
    expect(jobWishesOf('pause', { rows, all: false, filters: {} }).map((wish) => wish.filter.ids?.length)).toEqual([1000, 1])
    expect(jobWishesOf('pause', { rows, all: true, filters: { problem: 'true', sort: 'name' } })).toEqual([{ action: 'pause', filter: { problem: true } }])
  })

  it('tells what was done before a call failed, and reads the list again', async () => {
    const answers = [Response.json({ matched: 1001, through: 'j_9' }), Response.json({ matched: 1, through: 'j_9' }), Response.json({ done: 1000, job_ids: [] })]
    vi.stubGlobal('fetch', () => (answers.length ? Promise.resolve(answers.shift()) : Promise.reject(new TypeError('lost'))))
    const rows = Array.from({ length: 1001 }, (_, place) => row(`j_${place}`))
    const asked: Question[] = []
    const after = vi.fn()
    await askForAll((question) => asked.push(question), 'delete', { rows, all: false, count: 1001, filters: {} }, after)
    await expect(asked[0]?.act('old')).rejects.toThrow('cannot be reached')
    expect(after).toHaveBeenCalledOnce()
  })
})

describe('limits of a queue', () => {
  it('are sent as far as they were changed', () => {
    const queue = { concurrency: 5, rate: null }
    expect(changedLimits(queue, { concurrency: 5, key_concurrency: null, rate: 2, burst: null })).toEqual({ rate: 2 })
    expect(changedLimits(queue, { concurrency: null, key_concurrency: null, rate: null, burst: null })).toEqual({ concurrency: null })
  })
})

describe('taking a change of jobs back', () => {
  it('resumes what was paused by it, also if all that match were meant', () => {
    expect(undoOf('pause', { rows: [], all: true }, {}, ['j_1', 'j_2'])).toEqual([{ action: 'resume', filter: { ids: ['j_1', 'j_2'] } }])
  })

  it('gives each job the pause that it had', () => {
    const until = '2099-01-01T00:00:00Z'
    const rows = [row('j_1', { paused_reason: 'moves', paused_until: until }), row('j_2'), row('j_3', { paused_reason: 'moves', paused_until: until }), row('j_4')]
    expect(undoOf('resume', { rows, all: false }, {}, ['j_1', 'j_2', 'j_3'])).toEqual([
      { action: 'pause', filter: { ids: ['j_1', 'j_3'] }, reason: 'moves', until },
      { action: 'pause', filter: { ids: ['j_2'] }, reason: null, until: null },
    ])
  })

  it('gives each job the label that it had', () => {
    const rows = [row('j_1', { labels: { team: 'a' } }), row('j_2'), row('j_3', { labels: { team: 'a' } })]
    expect(undoOf('label', { rows, all: false }, { labels: { team: 'b' } }, [])).toEqual([
      { action: 'label', filter: { ids: ['j_1', 'j_3'] }, labels: { team: 'a' } },
      { action: 'label', filter: { ids: ['j_2'] }, labels: { team: null } },
    ])
  })

  it('does not promise what it cannot do', () => {
    expect(undoOf('resume', { rows: [], all: true }, {}, ['j_1'])).toEqual([])
    expect(undoOf('run', { rows: [row('j_1')], all: false }, {}, [])).toEqual([])
  })
})

describe('nodes', () => {
  it('that are there come before those that have gone', () => {
    const nodes = [{ id: 1, state: 'stopped' }, { id: 2, state: 'live' }, { id: 3, state: 'draining' }, { id: 4, state: 'expired' }]
    expect(presentFirst(nodes).map((node) => node.id)).toEqual([2, 3, 1, 4])
  })
})

describe('takeovers', () => {
  it('are one line for shards that were taken together, the latest first', () => {
    const shard = (number: number, taken_at: string | null, leader: string | null = 'a') => ({ shard: number, taken_at, leader, epoch: number })
    const rows = takeoversOf([shard(0, '2027-01-01T00:00:00.1Z'), shard(1, '2027-01-01T00:00:00.9Z'), shard(2, '2027-01-02T00:00:00Z', 'b'), shard(3, null, null)])
    expect(rows.map((each) => [each.leader, each.shards, each.epoch])).toEqual([['b', [2], 2], ['a', [0, 1], 1]])
  })
})

describe('the texts of a template', () => {
  it('leave out what is empty', () => {
    expect(writtenTexts({ email: { subject: 'Hello', text: ' ' }, sms: { text: '' } })).toEqual({ email: { subject: 'Hello' } })
    expect(writtenTexts({ sms: { text: '' } })).toBeNull()
  })
})

describe('bringing deleted jobs back', () => {
  it('names them, some in each call', () => {
    const steps = undoOf('delete', { rows: [], all: true }, {}, Array.from({ length: 1001 }, (_, place) => `j_${place}`))
    expect(steps.map((step) => [step.action, step.filter.ids?.length])).toEqual([['restore', 1000], ['restore', 1]])
    expect(named('restore', [])).toEqual([])
  })

  it('does not say that all is as it was if some were refused', async () => {
    const answers = [{ done: 1000 }, { done: 0, refused: [{ code: 'name_taken', message: 'there is a job report', jobs: 1 }] }]
    vi.stubGlobal('fetch', () => Promise.resolve(Response.json(answers.shift())))
    const after = vi.fn()
    const steps = named('restore', Array.from({ length: 1001 }, (_, place) => `j_${place}`))
    await expect(takeBack(steps, after)).rejects.toThrow('1 was refused: there is a job report')
    expect(after).toHaveBeenCalledOnce()
  })
})

describe('acting on dead letters', () => {
  it('means what the list shows, and says so if that is all', () => {
    expect(filterOf({ filters: { job: 'a', sort: 'x' } })).toEqual({ job: 'a' })
    expect(filterOf({ filters: {} })).toEqual({ all: true })
  })

  it('takes a group for one error and one reason', () => {
    expect(filterOfGroup({ error_group: 'ValueError', reason: 'poison' })).toEqual({ error_group: 'ValueError', reason: 'poison' })
  })

  it('discards no more than were counted, unless that is an estimate', async () => {
    const expected: unknown[] = []
    for (const estimated of [false, true]) {
      vi.stubGlobal('fetch', (_: string, { body }: { body: string }) => {
        const wish = JSON.parse(body) as Record<string, unknown>
        if (!wish['dry_run']) expected.push(wish['expected'])
        return Promise.resolve(Response.json({ matched: 41, estimated, discarded: 41 }))
      })
      const asked: Question[] = []
      await askToDiscardAll((question) => asked.push(question), { all: true }, null, () => undefined)
      expect(asked[0]?.object).toBe('41 dead letters')
      await asked[0]?.act('no longer needed')
    }
    expect(expected).toEqual([41, undefined])
  })
})

describe('what names a secret', () => {
  it('is counted and named', () => {
    expect(usedBy({ jobs: 1, estimated: false, sample: ['export'], providers: [], adapters: [] })).toBe('1 job (export)')
    expect(usedBy({ jobs: 7, estimated: false, sample: ['a', 'b', 'c', 'd', 'e', 'f', 'g'], providers: ['mail'], adapters: ['cms', 'shop'] })).toBe('7 jobs (a, b, c, d, e…), 1 provider (mail), 2 adapters (cms, shop)')
    expect(usedBy({ jobs: 2, estimated: true, sample: ['a', 'b'], providers: [], adapters: [] })).toBe('2 jobs or more (a, b)')
  })
})

describe('a release', () => {
  it('has the items that go out, and when it is cancelled those that were to', () => {
    const items = [{ status: 'pending' }, { status: 'cancelled' }] as never
    expect(itemsOf({ status: 'pending', items })).toHaveLength(1)
    expect(itemsOf({ status: 'cancelled', items })).toHaveLength(2)
  })
})
