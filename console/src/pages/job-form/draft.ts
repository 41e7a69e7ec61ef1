/** A job as the form holds it: pure, so that it can be tested without a page. */
import { writeExact } from '@/api/exact'
import { JOB_FIELDS, type JobSpec, type JobView } from '@/api/schema'
import { instantOf } from '@/parts/calendar/days'
import { parsedAt } from '@/parts/field'
import { validZone, wallOf } from '@/parts/instant'
import { masked, unmasked } from '@/parts/Json'
import { definitionOf } from '../job/texts'

const D = JOB_FIELDS

export interface Draft {
  name: string
  schedule: string
  timezone: string | null
  targetKind: string
  handler: string
  url: string
  method: string
  targetJson: string
  payload: string
  queue: string
  priority: number
  max_retries: number
  retry_backoff: string
  retry_base_seconds: number
  retry_max_seconds: number
  timeout_seconds: number
  overlap: string
  missed_window: string | null
  max_missed: number
  catch_up_seconds: number | null
  grace_seconds: number
  expires_seconds: number | null
  jitter_seconds: number
  gap: string | null
  fold: string | null
  /** On the wall clock of the zone. */
  starts: string
  ends: string
  max_runs: number | null
  exclude: string[]
  concurrency_key: string
  idempotency_key_template: string
  labels: string[]
  description: string
  owner: string
  /** What the form has no field for: a clone gets it, too. */
  rest: Record<string, unknown>
  /** What stands behind the mask of secrets. */
  behind: { payload: unknown; target: unknown }
}

export const EMPTY: Draft = {
  name: '', schedule: '', timezone: null, targetKind: 'handler', handler: '', url: '', method: 'POST', targetJson: '{}', payload: '', queue: D.queue.default, priority: D.priority.default,
  max_retries: D.max_retries.default, retry_backoff: D.retry_backoff.default, retry_base_seconds: D.retry_base_seconds.default, retry_max_seconds: D.retry_max_seconds.default, timeout_seconds: D.timeout_seconds.default,
  overlap: D.overlap.default, missed_window: null, max_missed: D.max_missed.default, catch_up_seconds: null, grace_seconds: D.grace_seconds.default, expires_seconds: null, jitter_seconds: D.jitter_seconds.default,
  gap: null, fold: null, starts: '', ends: '', max_runs: null, exclude: [], concurrency_key: '', idempotency_key_template: '', labels: [], description: '', owner: '', rest: {}, behind: { payload: null, target: null },
}

/** Fields that are read in their own way, and those that belong to the schedule as it was. */
const OWN = ['payload', 'labels', 'target', 'starts_at', 'ends_at']
const OF_THE_SCHEDULE = ['kind', 'anchor']

export function draftOf(job: JobView): Draft {
  const given = definitionOf(job) as Partial<JobSpec>
  const target = (given.target ?? {}) as Record<string, unknown>
  const http = target['http'] as { url?: string; method?: string } | undefined
  const simple = http && Object.keys(http).every((name) => ['url', 'method'].includes(name))
  const wall = (at: string | null | undefined) => (at ? wallOf(new Date(at), validZone(job.timezone)) : '')
  const plain = Object.entries(given).filter(([name]) => !OWN.includes(name))
  return {
    ...EMPTY,
    ...Object.fromEntries(plain.filter(([name]) => name in EMPTY)),
    targetKind: typeof target['handler'] === 'string' ? 'handler' : simple ? 'http' : given.target ? 'json' : 'handler',
    handler: typeof target['handler'] === 'string' ? target['handler'] : '',
    url: http?.url ?? '',
    method: http?.method ?? 'POST',
    targetJson: writeExact(masked(target)),
    payload: given.payload === undefined || given.payload === null ? '' : writeExact(masked(given.payload)),
    starts: wall(given.starts_at),
    ends: wall(given.ends_at),
    labels: Object.entries(given.labels ?? {}).map(([name, value]) => `${name}=${String(value)}`),
    rest: Object.fromEntries(plain.filter(([name]) => !(name in EMPTY) && !OF_THE_SCHEDULE.includes(name))),
    behind: { payload: given.payload ?? null, target },
  }
}

/** What is sent; raises `FieldError` for JSON that cannot be read. */
export function specOf(draft: Draft): Record<string, unknown> {
  const { targetKind, handler, url, method, targetJson, payload, labels, starts, ends, rest, behind, ...plain } = draft
  const zone = validZone(draft.timezone)
  const spec: Record<string, unknown> = { ...rest, ...plain, starts_at: starts ? instantOf(starts, zone) : null, ends_at: ends ? instantOf(ends, zone) : null }
  for (const name of ['description', 'owner', 'concurrency_key', 'idempotency_key_template']) spec[name] ||= null
  spec['payload'] = payload.trim() ? unmasked('payload', parsedAt('payload', payload), behind.payload) : null
  spec['labels'] = Object.fromEntries(labels.map((label) => [label.split('=')[0] ?? label, label.split('=').slice(1).join('=')]))
  if (targetKind === 'json') spec['target'] = unmasked('target', parsedAt('target', targetJson), behind.target)
  else if (targetKind === 'http') spec['target'] = { http: { url, method } }
  else spec['target'] = handler ? { handler } : null
  return spec
}

/** Only what differs: others may have changed the rest. */
export function changesOf(spec: Record<string, unknown>, before: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(spec).filter(([name, value]) => writeExact(value, 0) !== writeExact(before[name], 0)))
}
