/** Doing something to many runs: count first, then ask, then go on until it is done. */
import { IconBan, IconRefresh } from '@tabler/icons-react'
import { call, newKey } from '@/api/client'
import type { RunActionRequest, RunTally, RunView } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import { useConfirm, type Question } from '@/parts/Confirm'
import type { BulkAction, Selection } from '@/parts/DataTable'
import { tell, tellFailure } from '@/parts/notify'

type Action = RunActionRequest['action']

const TITLES: Record<Action, string> = { cancel: 'Cancel runs', again: 'Run again' }
const EFFECTS: Record<Action, string> = {
  cancel: 'Those that wait end at once, those that run are asked to stop. What has ended stays as it is.',
  again: 'Each gets a new run of its job now, with the payload it had. What has not ended is left alone.',
}
export const STATES = ['pending', 'running', 'waiting', 'failed', 'success', 'dead', 'cancelled', 'expired', 'skipped'] as const
export const TRIGGERS = ['schedule', 'catch_up', 'manual', 'backfill', 'redrive'] as const
/** So many are named in one call. */
const MOST_IDS = 200

/** What may be done to the selected runs of a list. */
export function useRunActions(after: () => unknown): BulkAction<RunView>[] {
  const session = useSession()
  const ask = useConfirm()
  if (!session.may('operator')) return []
  return [
    { label: t('Run again'), icon: <IconRefresh size={14} />, act: (selection) => void askForRuns(ask, 'again', selection, after) },
    { label: t('Cancel'), icon: <IconBan size={14} />, act: (selection) => void askForRuns(ask, 'cancel', selection, after) },
  ]
}

export async function askForRuns(ask: (question: Question) => void, action: Action, selection: Selection<RunView>, after: () => unknown): Promise<void> {
  const wishes = wishesOf(action, selection)
  // If an answer is lost, confirming once more makes no second run.
  const key = action === 'again' ? newKey() : null
  try {
    let matched = 0
    let estimated = false
    for (const wish of wishes) {
      const counted = await call('POST /runs/actions', { body: { ...wish, dry_run: true } })
      matched += counted.matched ?? 0
      estimated ||= counted.estimated ?? false
    }
    if (matched === 0 && !estimated) {
      tell(t('It can be done to none of them'))
      return
    }
    const runs = estimated ? t('{count} runs or more', { count: number(matched) }) : tn('{count} run', '{count} runs', matched)
    ask({
      title: t(TITLES[action]),
      object: runs,
      effect: t(EFFECTS[action]),
      verb: `${t(TITLES[action])} · ${runs}`,
      destructive: action === 'cancel',
      act: async (reason) => {
        const done = { done: 0, refused: 0 }
        let whole = false
        try {
          await throughAll(wishes, action === 'cancel' && reason ? { reason } : {}, reason, key, done)
          whole = true
        } finally {
          // What was done before a call failed is done.
          if (whole || done.done) tell(tn('{count} run was changed', '{count} runs were changed', done.done) + (done.refused ? ` · ${tn('{count} was refused', '{count} were refused', done.refused)}` : ''))
          await after()
        }
      },
    })
  } catch (error) {
    tellFailure(error)
  }
}

/** The selected rows by their ids, some in each call, or all that match. Skipped occurrences have no run, and `since` leaves no live run out. */
export function wishesOf(action: Action, selection: Pick<Selection<Pick<RunView, 'run_id'>>, 'rows' | 'all' | 'filters'>): RunActionRequest[] {
  if (selection.all) {
    const { sort: _, late, ...rest } = selection.filters
    const filter = { ...rest, ...(late ? { late: late === 'true' } : {}) }
    const narrow = Object.keys(filter).some((name) => name !== 'include' && !(name === 'since' && action === 'cancel'))
    return [{ action, filter: narrow ? filter : { ...filter, all: true } } as RunActionRequest]
  }
  const ids = selection.rows.flatMap((row) => (row.run_id ? [row.run_id] : []))
  return Array.from({ length: Math.ceil(ids.length / MOST_IDS) }, (_, place) => ({ action, filter: { ids: ids.slice(place * MOST_IDS, (place + 1) * MOST_IDS) } }) as RunActionRequest)
}

/** Adds what was done to `all`, call by call. */
async function throughAll(wishes: RunActionRequest[], more: { reason?: string }, reason: string | undefined, key: string | null, all: { done: number; refused: number }): Promise<void> {
  let chunk = 0
  for (const wish of wishes) {
    let after: string | null = null
    do {
      const answer: RunTally = await call('POST /runs/actions', { body: { ...wish, ...more, after }, reason, ...(key && { idempotencyKey: `${key}-${chunk++}` }) })
      all.done += (answer.done ?? 0) + (answer.requested ?? 0)
      all.refused += (answer.refused ?? []).reduce((sum, each) => sum + (each.runs ?? 0), 0)
      after = answer.cursor ?? null
    } while (after)
  }
}
