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
  const filter = filterOf(selection)
  // If an answer is lost, confirming once more makes no second run.
  const key = action === 'run' ? newKey() : null
  try {
    const counted = await call('POST /jobs/actions', { body: { action, filter, dry_run: true, ...(action === 'label' ? { labels: { '-': null } } : {}) } as ActionRequest })
    const label = { text: '' }
    const matched = counted.matched ?? 0
    ask({
      title: t(TITLES[action]),
      object: tn('{count} job', '{count} jobs', matched),
      effect: (
        <>
          {t(EFFECTS[action])}
          {counted.sample && counted.sample.length > 0 && <> {t('Among them:')} {counted.sample.slice(0, 5).map((each) => each.name).join(', ')}{matched > 5 ? '…' : ''}</>}
        </>
      ),
      verb: `${t(VERBS[action])} · ${tn('{count} job', '{count} jobs', matched)}`,
      destructive: action === 'delete',
      undoable: true,
      reason: action === 'delete' ? 'required' : 'optional',
      ...(action === 'label' ? { children: <TextInput mt="md" label={t('Label: name=value')} description={t('With - before the name it is taken away.')} placeholder="team=billing" onChange={(event) => { label.text = event.currentTarget.value }} /> } : {}),
      act: async (reason) => {
        const more = action === 'label' ? { labels: labelsOf(label.text) } : action === 'pause' && reason ? { reason } : {}
        const done = await throughAll({ action, filter, ...more } as ActionRequest, counted, reason, key)
        const told = tn('{count} job was changed', '{count} jobs were changed', done.done) + (done.refused ? ` · ${tn('{count} was refused', '{count} were refused', done.refused)}` : '')
        const steps = done.done ? (action === 'delete' ? restoring(done.ids) : undoOf(action, selection, more)) : []
        if (steps.length) tellUndo(told, () => takeBack(steps, after))
        else tell(told)
        await after()
      },
    })
  } catch (error) {
    tellFailure(error)
  }
}

/** Fails if some of the jobs were refused: these are not as they were. */
export async function takeBack(steps: ActionRequest[], after: () => unknown): Promise<void> {
  let refused = 0
  let why: string | undefined
  for (const step of steps) {
    const done = await throughAll(step, { through: null }, undefined)
    refused += done.refused
    why ??= done.why
  }
  await after()
  if (refused) throw new Error(`${tn('{count} was refused', '{count} were refused', refused)}: ${why ?? ''}`)
}

/** What brings deleted jobs back, some in each call. */
export function restoring(ids: string[]): ActionRequest[] {
  return Array.from({ length: Math.ceil(ids.length / MOST_IDS) }, (_, place) => ({ action: 'restore', filter: { ids: ids.slice(place * MOST_IDS, (place + 1) * MOST_IDS) } }) as ActionRequest)
}

/** “team=billing” sets, “-team” takes away. */
export function labelsOf(text: string): Record<string, string | null> {
  const trimmed = text.trim()
  if (trimmed.startsWith('-')) return { [trimmed.slice(1)]: null }
  const [name = '', ...value] = trimmed.split('=')
  return { [name]: value.join('=') }
}

/** What takes a change of selected rows back; nothing if it cannot be, or if more than these rows were meant. */
export function undoOf(action: Action, selection: Pick<Selection<Pick<JobRow, 'job_id' | 'status' | 'labels'>>, 'rows' | 'all'>, more: { labels?: Record<string, string | null> }): ActionRequest[] {
  if (selection.all) return []
  const was = (status: string) => selection.rows.filter((row) => row.status === status).map((row) => row.job_id)
  if (action === 'pause' || action === 'resume') {
    const ids = was(action === 'pause' ? 'active' : 'paused')
    return ids.length ? [{ action: action === 'pause' ? 'resume' : 'pause', filter: { ids } } as ActionRequest] : []
  }
  if (action !== 'label' || !more.labels) return []
  const steps = new Map<string, ActionRequest>()
  for (const name of Object.keys(more.labels)) {
    for (const row of selection.rows) {
      const value = (row.labels?.[name] as string | undefined) ?? null
      const key = JSON.stringify([name, value])
      const step = steps.get(key) ?? ({ action: 'label', filter: { ids: [] }, labels: { [name]: value } } as unknown as ActionRequest)
      step.filter.ids?.push(row.job_id)
      steps.set(key, step)
    }
  }
  return [...steps.values()]
}

function filterOf(selection: Selection<JobRow>): ActionRequest['filter'] {
  if (!selection.all) return { ids: selection.rows.map((row) => row.job_id) } as ActionRequest['filter']
  const { sort: _, problem, ...rest } = selection.filters
  const filter = { ...rest, ...(problem ? { problem: problem === 'true' } : {}) } as ActionRequest['filter']
  return Object.keys(filter).length ? filter : { all: true }
}

/** A call goes through a thousand jobs at most and says where the next one goes on. */
async function throughAll(request: ActionRequest, counted: Pick<Tally, 'through'>, reason: string | undefined, key: string | null = null): Promise<{ done: number; refused: number; why: string | undefined; ids: string[] }> {
  let after: string | null = null
  const ids: string[] = []
  let chunk = 0
  let done = 0
  let refused = 0
  let why: string | undefined
  do {
    const answer: Tally = await call('POST /jobs/actions', { body: { ...request, through: counted.through ?? null, after }, reason, ...(key && { idempotencyKey: `${key}-${chunk++}` }) })
    done += answer.done ?? 0
    ids.push(...(answer.job_ids ?? []))
    refused += (answer.refused ?? []).reduce((sum, each) => sum + (each.jobs ?? 0), 0)
    why ??= answer.refused?.[0]?.message
    after = answer.cursor ?? null
  } while (after)
  return { done, refused, why, ids }
}
