/**
 * What fires often would cover everything else in a calendar. It is taken out here: one line for each such job with how
 * many times there are in each day or hour, so that what happens seldom stands out. What failed of it stays.
 */
import { dayOf, wallOf } from '../instant'
import { toneOf } from '../Status'
import type { CalendarEvent } from './Calendar'

/** More than this many times on one day is often. */
const OFTEN = 6
/** Hours with failures of one job that are shown one by one; with more of them its line tells it. */
const MOST_TROUBLE = 12

export interface Often {
  key: string
  title: string
  schedule: string | null
  count: number
  failed: number
  /** By day, “2026-11-18”, or by hour, “2026-11-18T14”. */
  cells: Map<string, { count: number; failed: number }>
  /** Any of its events: for opening it. */
  event: CalendarEvent
}

export function apart(events: CalendarEvent[], zone: string, by: 'day' | 'hour'): { seldom: CalendarEvent[]; often: Often[] } {
  const jobs = new Map<string, CalendarEvent[]>()
  const seldom: CalendarEvent[] = []
  for (const event of events) {
    if (!event.series) {
      seldom.push(event)
      continue
    }
    const known = jobs.get(event.series)
    if (known) known.push(event)
    else jobs.set(event.series, [event])
  }
  const often: Often[] = []
  for (const [key, all] of jobs) {
    const days = new Map<string, number>()
    for (const event of all) {
      const day = dayOf(new Date(event.at), zone)
      days.set(day, (days.get(day) ?? 0) + (event.count ?? 1))
    }
    if (Math.max(...days.values()) <= OFTEN) {
      seldom.push(...all)
      continue
    }
    const [line, trouble] = condensed(key, all, zone, by)
    often.push(line)
    if (trouble.length <= MOST_TROUBLE) seldom.push(...trouble)
  }
  often.sort((first, second) => second.count - first.count || first.title.localeCompare(second.title))
  return { seldom, often }
}

/** The line of a job, and its failures by the hour. */
function condensed(key: string, events: CalendarEvent[], zone: string, by: 'day' | 'hour'): [Often, CalendarEvent[]] {
  const first = events[0] as CalendarEvent
  const line: Often = { key, title: first.title, schedule: first.schedule ?? null, count: 0, failed: 0, cells: new Map(), event: events.findLast((event) => !event.past) ?? first }
  const trouble = new Map<string, CalendarEvent>()
  for (const event of events) {
    const wall = wallOf(new Date(event.at), zone)
    const name = by === 'day' ? wall.slice(0, 10) : wall.slice(0, 13)
    const cell = line.cells.get(name) ?? { count: 0, failed: 0 }
    const count = event.count ?? 1
    const failed = toneOf(event.status) === 'bad' ? count : 0
    line.cells.set(name, { count: cell.count + count, failed: cell.failed + failed })
    line.count += count
    line.failed += failed
    if (failed) {
      const hour = wall.slice(0, 13)
      const known = trouble.get(hour)
      trouble.set(hour, known ? { ...known, count: (known.count ?? 1) + count } : event)
    }
  }
  return [line, [...trouble.values()]]
}

/** How strong a colour is for a count: 0 to 4, by the share of the highest on a scale of roots. */
export function strength(count: number, highest: number): number {
  if (count <= 0 || highest <= 0) return 0
  return Math.max(1, Math.ceil(Math.sqrt(count / highest) * 4))
}
