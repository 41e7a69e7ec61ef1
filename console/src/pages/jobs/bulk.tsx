/** Doing something to many jobs: count first, then ask, then go on until it is done. */
import { TextInput } from '@mantine/core'
import { call, newKey } from '@/api/client'
import type { ActionRequest, Tally } from '@/api/schema'
import type { JobRow } from '@/api/types'
import { t, tn } from '@/i18n'
import type { Question } from '@/parts/Confirm'
import type { Selection } from '@/parts/DataTable'
import { tell, tellFailure, tellUndo } from '@/parts/notify'

type Action = ActionRequest['action']

const TITLES: Record<Action, string> = { pause: 'Pause jobs', resume: 'Resume jobs', run: 'Run jobs now', delete: 'Delete jobs', restore: 'Restore jobs', label: 'Label jobs' }
const VERBS: Record<Action, string> = { pause: 'Pause', resume: 'Resume', run: 'Run now', delete: 'Delete', restore: 'Restore', label: 'Label' }
const EFFECTS: Record<Action, string> = {
  pause: 'They fire no more until they are resumed; what falls due meanwhile is recorded as paused. Running runs go on.',
  resume: 'They go on with their next occurrence.',
  run: 'Each gets one run now, beside its schedule.',
  delete: 'They fire no more and their names become free. Waiting runs are cancelled, running ones finish. Their history stays, and they can be restored for as long as it does.',
  restore: 'They fire again as before. What fell due meanwhile is recorded as skipped; runs that were cancelled stay so. A job whose name another has by now is refused.',
  label: 'The label is set on each; it changes nothing else.',
}

/** So many are named in one call. */
const MOST_IDS = 1000

export async function askForAll(ask: (question: Question) => void, action: Action, selection: Selection<JobRow>, after: () => unknown): Promise<void> {
  const wishes = wishesOf(action, selection)
  // If an answer is lost, confirming once more makes no second run.
  const key = action === 'run' ? newKey() : null
  try {
    const label = { text: '' }
    let matched = 0
    const names: string[] = []
    // Up to which job each goes: those that are made meanwhile were not counted.
    const counted: ActionRequest[] = []
    for (const wish of wishes) {
      const tally = await call('POST /jobs/actions', { body: { ...wish, dry_run: true, ...(action === 'label' ? { labels: { '-': null } } : {}) } })
      matched += tally.matched ?? 0
      names.push(...(tally.sample ?? []).map((each) => each.name))
      counted.push({ ...wish, through: tally.through ?? null })
    }
    if (matched === 0) {
      tell(t('It can be done to none of them'))
      return
    }
    ask({
      title: t(TITLES[action]),
      object: tn('{count} job', '{count} jobs', matched),
      effect: (
        <>
          {t(EFFECTS[action])}
          {names.length > 0 && <> {t('Among them:')} {names.slice(0, 5).join(', ')}{matched > 5 ? '…' : ''}</>}
        </>
      ),
      verb: `${t(VERBS[action])} · ${tn('{count} job', '{count} jobs', matched)}`,
      destructive: action === 'delete',
      undoable: true,
      reason: action === 'delete' ? 'required' : 'optional',
      ...(action === 'label' ? { children: <TextInput mt="md" label={t('Label: name=value')} description={t('With - before the name it is taken away.')} placeholder="team=billing" onChange={(event) => { label.text = event.currentTarget.value }} /> } : {}),
      act: async (reason) => {
        const more = action === 'label' ? { labels: labelsOf(label.text) } : action === 'pause' && reason ? { reason } : {}
        const done = nothingDone()
        let whole = false
        try {
          await throughAll(counted.map((wish) => ({ ...wish, ...more })), reason, done, key)
          whole = true
        } finally {
          // What was done before a call failed is done.
          const told = tn('{count} job was changed', '{count} jobs were changed', done.done) + (done.refused ? ` · ${tn('{count} was refused', '{count} were refused', done.refused)}` : '')
          const steps = done.done ? undoOf(action, selection, more, done.ids) : []
          if (steps.length) tellUndo(told, () => takeBack(steps, after))
          else if (whole || done.done) tell(told)
          await after()
        }
      },
    })
  } catch (error) {
    tellFailure(error)
  }
}

/** Fails if some of the jobs were refused: these are not as they were. */
export async function takeBack(steps: ActionRequest[], after: () => unknown): Promise<void> {
  const done = nothingDone()
  try {
    await throughAll(steps, undefined, done)
  } finally {
    await after()
  }
  if (done.refused) throw new Error(`${tn('{count} was refused', '{count} were refused', done.refused)}: ${done.why ?? ''}`)
}

/** An action on these jobs, some in each call. */
export function named(action: Action, ids: string[], more: Partial<ActionRequest> = {}): ActionRequest[] {
  return Array.from({ length: Math.ceil(ids.length / MOST_IDS) }, (_, place) => ({ action, filter: { ids: ids.slice(place * MOST_IDS, (place + 1) * MOST_IDS) }, ...more }) as ActionRequest)
}

/** “team=billing” sets, “-team” takes away. */
export function labelsOf(text: string): Record<string, string | null> {
  const trimmed = text.trim()
  if (trimmed.startsWith('-')) return { [trimmed.slice(1)]: null }
  const [name = '', ...value] = trimmed.split('=')
  return { [name]: value.join('=') }
}

/** What takes a change back, given the jobs whose status it changed; nothing if it cannot be. What rows had before is known of those that were selected, and not of all that match. */
export function undoOf(action: Action, selection: Pick<Selection<Pick<JobRow, 'job_id' | 'labels' | 'paused_reason' | 'paused_until'>>, 'rows' | 'all'>, more: { labels?: Record<string, string | null> }, changed: string[]): ActionRequest[] {
  if (action === 'delete') return named('restore', changed)
  if (action === 'pause') return named('resume', changed)
  if (selection.all) return []
  if (action === 'resume') {
    const pauses = new Map<string, { ids: string[]; reason: string | null; until: string | null }>()
    for (const { job_id, paused_reason, paused_until } of selection.rows.filter((row) => changed.includes(row.job_id))) {
      const pause = { ids: [], reason: paused_reason ?? null, until: paused_until ?? null }
      const key = JSON.stringify([pause.reason, pause.until])
      pauses.set(key, pauses.get(key) ?? pause)
      pauses.get(key)?.ids.push(job_id)
    }
    return [...pauses.values()].flatMap(({ ids, ...pause }) => named('pause', ids, pause))
  }
  if (action !== 'label' || !more.labels) return []
  const steps = new Map<string, { ids: string[]; labels: Record<string, string | null> }>()
  for (const name of Object.keys(more.labels)) {
    for (const row of selection.rows) {
      const value = (row.labels?.[name] as string | undefined) ?? null
      const key = JSON.stringify([name, value])
      const step = steps.get(key) ?? { ids: [], labels: { [name]: value } }
      step.ids.push(row.job_id)
      steps.set(key, step)
    }
  }
  return [...steps.values()].flatMap(({ ids, labels }) => named('label', ids, { labels }))
}

/** The selected rows by their ids, some in each call, or all that match. */
export function wishesOf(action: Action, selection: Pick<Selection<Pick<JobRow, 'job_id'>>, 'rows' | 'all' | 'filters'>): ActionRequest[] {
  if (!selection.all) return named(action, selection.rows.map((row) => row.job_id))
  const { sort: _, problem, ...rest } = selection.filters
  const filter = { ...rest, ...(problem ? { problem: problem === 'true' } : {}) } as ActionRequest['filter']
  return [{ action, filter: Object.keys(filter).length ? filter : { all: true } }]
}

interface Done {
  done: number
  refused: number
  why: string | undefined
  ids: string[]
}

function nothingDone(): Done {
  return { done: 0, refused: 0, why: undefined, ids: [] }
}

/** A call goes through a thousand jobs at most and says where the next one goes on. Adds what was done to `all`, call by call. */
async function throughAll(requests: ActionRequest[], reason: string | undefined, all: Done, key: string | null = null): Promise<void> {
  let chunk = 0
  for (const request of requests) {
    let after: string | null = null
    do {
      const answer: Tally = await call('POST /jobs/actions', { body: { ...request, after }, reason, ...(key && { idempotencyKey: `${key}-${chunk++}` }) })
      all.done += answer.done ?? 0
      all.ids.push(...(answer.job_ids ?? []))
      all.refused += (answer.refused ?? []).reduce((sum, each) => sum + (each.jobs ?? 0), 0)
      all.why ??= answer.refused?.[0]?.message
      after = answer.cursor ?? null
    } while (after)
  }
}
