/** Doing something to many dead letters: count first, then ask. */
import { call } from '@/api/client'
import type { DeadFilter, DeadLetter } from '@/api/schema'
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

export async function askToDiscard(ask: (question: Question) => void, selection: Chosen, after: () => unknown): Promise<void> {
  try {
    const count = selection.all ? ((await call('POST /dead/discard', { body: { ...filterOf(selection), dry_run: true } })).matched ?? 0) : selection.rows.length
    ask({
      title: t('Discard dead letters'),
      object: tn('{count} dead letter', '{count} dead letters', count),
      effect: tn('{count} dead letter is discarded for good; its run stays in the history as dead.', '{count} dead letters are discarded for good; their runs stay in the history as dead.', count),
      verb: tn('Discard {count}', 'Discard {count}', count),
      destructive: true,
      act: async (reason) => {
        const done = selection.all
          ? ((await call('POST /dead/discard', { body: { ...filterOf(selection), expected: count }, reason })).discarded ?? 0)
          : await each(selection, (run) => call('POST /dead/{run}/discard', { path: { run }, reason }))
        tell(tn('{count} was discarded', '{count} were discarded', done))
        await after()
      },
    })
  } catch (error) {
    tellFailure(error)
  }
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
      const done = await each(selection, (run) => call('POST /dead/{run}/redrive', { path: { run }, body: {}, reason }))
      tell(tn('{count} run is made again', '{count} runs are made again', done))
      await after()
    },
  })
}

async function each({ rows }: Chosen, act: (run: string) => Promise<unknown>): Promise<number> {
  for (const row of rows) await act(row.run_id)
  return rows.length
}
