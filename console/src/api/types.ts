/** Names for what several pages use. */
import type { JobView, RunView } from './schema'

export type RunStatus = RunView['status']

export interface StripItem {
  run_id: string | null
  status: RunStatus
  at: string
  late_seconds?: number | null
  seconds?: number | null
}
/** A job of the list that was asked for with `expand=strip`. */
export interface JobRow extends JobView {
  strip?: StripItem[] | null
  words?: string | null
}
