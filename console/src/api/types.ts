/** Names for what several pages use. Operations that the OpenAPI document does not have yet are declared here until it has them. */
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
export interface Takeover {
  at: string
  shard: number
  node: string | null
  epoch: number
}
export interface Finding {
  code: string
  level: string
  text: string
  fix?: string | null
}

declare module './schema' {
  interface Operations {
    'GET /cluster/takeovers': { path: null; query: { limit?: number }; body: null; answer: Takeover[] }
    'GET /cluster/doctor': { path: null; query: null; body: null; answer: Finding[] }
    'GET /cluster/facts': { path: null; query: null; body: null; answer: Record<string, unknown> }
  }
}
