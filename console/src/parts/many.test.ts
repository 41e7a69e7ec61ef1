import { describe, expect, it, vi } from 'vitest'
import type { Question } from './Confirm'
import { askForMany, told, wishesOf } from './many'

const rowsOf = (count: number) => Array.from({ length: count }, (_, place) => ({ id: `n_${place}` }))

describe('acting on many', () => {
  it('names selected ones, some in each call', () => {
    const wishes = wishesOf('cancel', { rows: rowsOf(450), all: false, filters: { status: 'held' } }, (row) => row.id)
    expect(wishes.map((wish) => (wish.filter['ids'] as string[]).length)).toEqual([200, 200, 50])
    expect(wishes[0]?.filter).not.toHaveProperty('status')
  })
  it('means the filters of the list when all that match are selected', () => {
    expect(wishesOf('pause', { rows: rowsOf(3), all: true, filters: { search: 'spring', sort: '-name' } }, (row) => row.id)).toEqual([{ action: 'pause', filter: { search: 'spring' } }])
    expect(wishesOf('pause', { rows: rowsOf(3), all: true, filters: {} }, (row) => row.id)).toEqual([{ action: 'pause', filter: { all: true } }])
  })
  it('says how many are expected, unless that is an estimate', async () => {
    const what = { place: 'notifications' as const, action: 'cancel', title: 'Cancel', verb: 'Cancel', things: ['{count} message', '{count} messages'] as [string, string], effect: '' }
    const expected: unknown[] = []
    for (const estimated of [false, true]) {
      vi.stubGlobal('fetch', (_: string, { body }: { body: string }) => {
        const wish = JSON.parse(body) as Record<string, unknown>
        if (!wish['dry_run']) expected.push(wish['expected'])
        return Promise.resolve(Response.json(wish['dry_run'] ? { matched: 7, estimated } : { done: 7 }))
      })
      const asked: Question[] = []
      await askForMany((question) => asked.push(question), what, { rows: rowsOf(1), all: true, count: 1, filters: {} }, (row) => row.id, () => undefined)
      await asked[0]?.act(undefined)
    }
    vi.unstubAllGlobals()
    expect(expected).toEqual([7, undefined])
  })
  it('tells what was refused, and why', () => {
    expect(told({ done: 2, refused: 0, why: null })).toBe('2 were changed')
    expect(told({ done: 1, refused: 3, why: 'c_1 is part of the release cr_1' })).toBe('1 was changed · 3 were refused: c_1 is part of the release cr_1')
  })
})
