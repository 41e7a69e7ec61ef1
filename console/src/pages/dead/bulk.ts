/** Doing something to many dead letters: count first, then ask. */
import { call, orNone } from '@/api/client'
import type { DeadFilter, DeadGroup, DeadLetter } from '@/api/schema'
import { t, tn } from '@/i18n'
import type { Question } from '@/parts/Confirm'
import type { Selection } from '@/parts/DataTable'
import { tell, tellFailure } from '@/parts/notify'

type Chosen = Pick<Selection<Pick<DeadLetter, 'run_id'>>, 'rows' | 'all' | 'filters'>

/** What the filters of the list mean for the server. */
export function filterOf({ filters }: Pick<Chosen, 'filters'>): DeadFilter {
  const { sort: _, ...rest } = filters
  return (Object.keys(rest).length ? rest : { all: true }) as DeadFilter
}

/** A group is one error and one reason: the same error may have been given up for another. */
export function filterOfGroup({ error_group, reason }: Pick<DeadGroup, 'error_group' | 'reason'>): DeadFilter {
  return { error_group, reason } as DeadFilter
}

export async function askToDiscard(ask: (question: Question) => void, selection: Chosen, after: () => unknown): Promise<void> {
  if (selection.all) return askToDiscardAll(ask, filterOf(selection), null, after)
  const count = selection.rows.length
  ask({
    ...discarding(count, null),
    act: async (reason) => told(await each(selection, (run) => call('POST /dead/{run}/discard', { path: { run }, reason }), after)),
  })
}

/** All that match, and no more than were counted. `name`: what they have in common. */
export async function askToDiscardAll(ask: (question: Question) => void, filter: DeadFilter, name: string | null, after: () => unknown): Promise<void> {
  try {
    const { matched, estimated } = await call('POST /dead/discard', { body: { ...filter, dry_run: true } })
    ask({
      ...discarding(matched ?? 0, name),
      act: async (reason) => {
        const { discarded } = await call('POST /dead/discard', { body: { ...filter, ...(!estimated && { expected: matched }) }, reason })
        told(discarded ?? 0)
        await after()
      },
    })
  } catch (error) {
    tellFailure(error)
  }
}

function discarding(count: number, name: string | null): Omit<Question, 'act'> {
  return {
    title: t('Discard dead letters'),
    object: name ?? tn('{count} dead letter', '{count} dead letters', count),
    effect: tn('{count} dead letter is discarded for good; its run stays in the history as dead.', '{count} dead letters are discarded for good; their runs stay in the history as dead.', count),
    verb: tn('Discard {count}', 'Discard {count}', count),
    destructive: true,
  }
}

function told(discarded: number): void {
  tell(tn('{count} was discarded', '{count} were discarded', discarded))
}

/** Selected ones, as they are; all that match have a dialog with a rate. */
export function askToRedrive(ask: (question: Question) => void, selection: Chosen, after: () => unknown): void {
  const count = selection.rows.length
  ask({
    title: t('Redrive dead letters'),
    object: tn('{count} dead letter', '{count} dead letters', count),
    effect: tn('{count} run is made again, with its own payload and idempotency key.', '{count} runs are made again, with their own payloads and idempotency keys.', count),
    verb: tn('Redrive {count}', 'Redrive {count}', count),
    act: async (reason) => {
      const done = await each(selection, (run) => call('POST /dead/{run}/redrive', { path: { run }, body: {}, reason }), after)
      tell(tn('{count} run is made again', '{count} runs are made again', done))
    },
  })
}

/** One after another; those that are gone already, as they were done before or by another, are passed over. */
async function each({ rows }: Chosen, act: (run: string) => Promise<unknown>, after: () => unknown): Promise<number> {
  let done = 0
  try {
    for (const row of rows) if (await orNone(act(row.run_id).then(() => true), false)) done += 1
  } finally {
    await after()
  }
  return done
}
