/** A run as spans of waiting and working, worked out from its waits. Pure, so that it can be tested without a page. */
import type { RunDetail, RunWait } from '@/api/schema'

export type SpanKind = 'waiting' | 'running' | 'failed' | 'stopped'

export interface Span {
  kind: SpanKind
  from: string
  to: string
  /** When it began, in seconds after the nominal time. */
  offset: number
  seconds: number
  cause: string | null
  /** Which try it belongs to; null before the first. */
  attempt: number | null
}

export interface Moment {
  name: string
  at: string
  offset: number
}

/** The page reads JSON exactly: what is written as `0.0` comes as a text. */
function secondsOf(wait: Pick<RunWait, 'seconds'>): number {
  return Number(String(wait.seconds))
}

/** The nominal time, and where each wait of the run ended. What ends together is one moment. */
export function momentsOf(run: Pick<RunDetail, 'scheduled_at' | 'waits'>): Moment[] {
  const start = new Date(run.scheduled_at).getTime()
  const found: Moment[] = [{ name: 'nominal', at: run.scheduled_at, offset: 0 }]
  for (const wait of run.waits) {
    const offset = (new Date(wait.at).getTime() - start) / 1000
    const before = found.at(-1)
    if (before && secondsOf(wait) === 0 && wait.to === 'finished' && before.name === 'failed') before.name = 'finished'
    else if (before && secondsOf(wait) === 0 && wait.to === 'due') before.name = 'nominal'
    else found.push({ name: wait.to, at: wait.at, offset })
  }
  return found
}

/** What lies between the moments: none of it is left out, however short. */
export function spansOf(run: Pick<RunDetail, 'scheduled_at' | 'status' | 'waits'>): Span[] {
  const start = new Date(run.scheduled_at).getTime()
  let attempt = 0
  // What was put off goes on as the same try.
  let before = ''
  return run.waits
    .filter((wait) => secondsOf(wait) > 0)
    .map((wait) => {
      if (wait.from === 'started' && before !== 'snoozed') attempt += 1
      if (wait.from !== 'started') before = wait.from
      const seconds = secondsOf(wait)
      const ended = (new Date(wait.at).getTime() - start) / 1000
      return { kind: kindOf(wait, run.status), from: wait.from, to: wait.to, offset: ended - seconds, seconds, cause: wait.cause, attempt: attempt || null }
    })
}

function kindOf(wait: RunWait, status: string): SpanKind {
  if (wait.from !== 'started') return 'waiting'
  if (wait.to === 'finished' && status === 'cancelled') return 'stopped'
  return wait.to === 'failed' || (wait.to === 'finished' && status !== 'success') ? 'failed' : 'running'
}

/** Where a span stands in the bar, in percent; a short one is wide enough to be seen. */
export function placesOf(spans: Pick<Span, 'offset' | 'seconds'>[], least = 0.6): { left: number; width: number }[] {
  const first = Math.min(0, ...spans.map((span) => span.offset))
  const last = Math.max(...spans.map((span) => span.offset + span.seconds), first + 0.001)
  const whole = last - first
  return spans.map((span) => {
    const width = Math.max(least, (span.seconds / whole) * 100)
    return { left: Math.min(100 - width, ((span.offset - first) / whole) * 100), width }
  })
}

/** “+0 ms”, “+4.213 s”, “+2:05.300”: exact enough to tell moments of one second apart. */
export function offsetText(seconds: number): string {
  const sign = seconds < 0 ? '−' : '+'
  const size = Math.abs(seconds)
  if (size < 1) return `${sign}${Math.round(size * 1000)} ms`
  if (size < 60) return `${sign}${size.toFixed(3)} s`
  const hours = Math.floor(size / 3600)
  const minutes = Math.floor((size % 3600) / 60)
  const rest = (size % 60).toFixed(hours ? 0 : 1).padStart(hours ? 2 : 4, '0')
  return `${sign}${hours ? `${hours}:${String(minutes).padStart(2, '0')}` : minutes}:${rest}`
}
