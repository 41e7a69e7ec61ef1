/** The last runs of a job in a few numbers. Pure, so that they can be tested without a page. */
import type { RunView } from '@/api/schema'

type Ended = Pick<RunView, 'status' | 'started_at' | 'finished_at' | 'late_seconds' | 'trigger'>

export interface Summary {
  runs: number
  succeeded: number
  /** Of those that ended well or badly; null if none did. */
  rate: number | null
  p50: number | null
  p95: number | null
  late95: number | null
}

const BAD = new Set(['dead', 'expired'])

/** The value below which this share of the values lies: the nearest one that exists. */
export function percentile(values: number[], share: number): number | null {
  if (values.length === 0) return null
  const sorted = values.toSorted((one, two) => one - two)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? null
}

export function secondsOf(run: Pick<RunView, 'started_at' | 'finished_at'>): number | null {
  if (!run.started_at || !run.finished_at) return null
  return (new Date(run.finished_at).getTime() - new Date(run.started_at).getTime()) / 1000
}

export function summaryOf(runs: Ended[]): Summary {
  const ended = runs.filter((run) => run.status === 'success' || BAD.has(run.status))
  const succeeded = ended.filter((run) => run.status === 'success').length
  const took = ended.flatMap((run) => secondsOf(run) ?? [])
  const late = runs.flatMap((run) => (isLaterOnPurpose(run) ? [] : (run.late_seconds ?? [])))
  return { runs: ended.length, succeeded, rate: ended.length ? succeeded / ended.length : null, p50: percentile(took, 0.5), p95: percentile(took, 0.95), late95: percentile(late, 0.95) }
}

/** A dead run that was made again has the time of the one that died, and one of a backfill a time that is long over: how long ago that was is not lateness. */
export function isLaterOnPurpose({ trigger }: Pick<RunView, 'trigger'>): boolean {
  return trigger === 'redrive' || trigger === 'backfill'
}

/** Heights of bars in percent: on a scale of logarithms, as a slow run may take a thousand times as long. */
export function heightsOf(seconds: (number | null)[]): number[] {
  const known = seconds.filter((each) => each !== null)
  const highest = Math.max(0.001, ...known)
  const lowest = Math.min(highest, ...known)
  const span = Math.log1p(highest / 0.01) - Math.log1p(lowest / 0.01)
  return seconds.map((each) => (each === null ? 30 : span < 0.2 ? 70 : 35 + 65 * ((Math.log1p(each / 0.01) - Math.log1p(lowest / 0.01)) / span)))
}
