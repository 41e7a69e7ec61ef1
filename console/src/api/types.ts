/** Names for what several pages use. Operations that the OpenAPI document does not have yet are declared here until it has them. */
import type { JobView, Preview, RunView } from './schema'

export type RunStatus = RunView['status']
export type JobStatus = 'active' | 'paused' | 'completed' | 'deleted'

export interface StripItem {
  run_id: string | null
  status: RunStatus
  at: string
  late_seconds?: number | null
  seconds?: number | null
}
export interface JobRow extends JobView {
  strip?: StripItem[] | null
  words?: string | null
}
export interface Tallied {
  since?: string
  fired: number
  on_time: number
  late: number
  failed: number
  dead: number
  skipped: number
  succeeded: number
}
export interface LatenessPoint {
  at: string
  fired: number
  p50_ms: number | null
  p99_ms: number | null
  failed: number
}
export interface Attention {
  code: string
  severity: 'error' | 'warning' | 'info'
  text: string
  count?: number | null
  link_kind?: string | null
  link?: Record<string, string>
}
export interface Overview {
  at: string
  nodes: { live: number; stale: number; schedulers: number; workers: number } | null
  shards: { total: number; led: number } | null
  oldest_due_at: string | null
  queue_depth: number
  running: number
  dead: number
  problems: number
  jobs: Record<string, number>
  hour: Tallied
  day: Tallied
  lateness: LatenessPoint[]
  attention: Attention[]
  first_job_fired: boolean
}
export interface Upcoming {
  start: string
  minutes: { at: string; firings: number; jobs: number }[]
  estimated: boolean
}
export interface Found {
  kind: string
  id: string
  title: string
  subtitle?: string | null
  status?: string | null
  namespace?: string | null
}
export interface JobStats {
  points: {
    at: string
    runs: number
    failed: number
    duration_p50_ms: number | null
    duration_p99_ms: number | null
    late_p50_ms: number | null
    late_p99_ms: number | null
  }[]
}
export interface Wait {
  from: string
  to: string
  seconds: number
  cause?: string | null
}
export interface Explained extends Preview {
  clock_changes?: { at: string; text: string }[]
  difference?: { at: string; in: 'first' | 'second' | 'both' }[]
}
export interface CalendarItem {
  kind: string
  at: string
  local?: string | null
  title: string
  id: string
  job_id?: string | null
  status?: string | null
  movable?: boolean
  action?: string | null
  count?: number | null
}
export interface CalendarAnswer {
  entries: CalendarItem[]
  density: { at: string; count: number }[]
  clock_changes: { date: string; note: string }[]
}
export interface Finding {
  code: string
  level: string
  text: string
  fix?: string | null
}

declare module './schema' {
  interface Operations {
    'GET /overview': { path: null; query: null; body: null; answer: Overview }
    'GET /upcoming': { path: null; query: { minutes?: number }; body: null; answer: Upcoming }
    'GET /events': { path: null; query: { run?: string; job?: string }; body: null; answer: string }
    'GET /search': { path: null; query: { q: string; limit?: number }; body: null; answer: Found[] }
    'GET /runs/counts': { path: null; query: Record<string, string | number | boolean | null>; body: null; answer: Record<string, number | boolean> }
    'POST /runs/{run}/again': { path: { run: string }; query: null; body: { payload?: unknown }; answer: { run_id: string } }
    'POST /runs/actions': { path: null; query: null; body: Record<string, unknown>; answer: { matched?: number; done?: number; through?: string | null; cursor?: string | null } }
    'GET /jobs/{job}/stats': { path: { job: string }; query: { hours?: number }; body: null; answer: JobStats }
    'POST /jobs/{job}/skip': { path: { job: string }; query: null; body: null; answer: JobView }
    'GET /queues/backlog': { path: null; query: null; body: null; answer: Backlog[] }
    'GET /workers': { path: null; query: null; body: null; answer: NodeView[] }
    'GET /calendar': { path: null; query: { start: string; end: string; timezone?: string; kinds?: string; limit?: number }; body: null; answer: CalendarAnswer }
    'GET /cluster/takeovers': { path: null; query: { limit?: number }; body: null; answer: { at: string; shard: number; node: string | null; epoch: number; reason?: string | null }[] }
    'GET /cluster/doctor': { path: null; query: null; body: null; answer: Finding[] }
    'GET /cluster/facts': { path: null; query: null; body: null; answer: Record<string, unknown> }
    'GET /secrets': { path: null; query: null; body: null; answer: { name: string; changed_at: string; changed_by: string }[] }
    'GET /zones': { path: null; query: { search?: string }; body: null; answer: { zone: string; offset: string; abbreviation: string }[] }
    'POST /explain': { path: null; query: null; body: { schedule: string; timezone?: string; compare?: { schedule: string; timezone?: string }; count?: number }; answer: Explained }
  }
}
