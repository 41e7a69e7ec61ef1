/** Days as texts “2026-11-18”: a calendar has no business with instants. */
import { currentLanguage, locale } from '@/i18n'
import { wallOf } from '../instant'

export const VIEWS = ['day', 'week', 'month', 'agenda'] as const
export type View = (typeof VIEWS)[number]

/** A day as it may stand in an address; null: it is none. */
export function dayIn(text: string | null): string | null {
  return text !== null && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`)) ? text : null
}

export function addDays(day: string, count: number): string {
  const at = new Date(`${day}T00:00:00Z`)
  at.setUTCDate(at.getUTCDate() + count)
  return at.toISOString().slice(0, 10)
}

function addMonths(day: string, count: number): string {
  const [year = 0, month = 1] = day.split('-').map(Number)
  const first = new Date(Date.UTC(year, month - 1 + count, 1))
  return first.toISOString().slice(0, 10)
}

/** 0 is Monday. */
export function weekday(day: string): number {
  return (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7
}

/** The days that a view shows around a day. */
export function daysOf(view: View, day: string): string[] {
  if (view === 'day') return [day]
  if (view === 'week') return span(addDays(day, -weekday(day)), 7)
  if (view === 'agenda') return span(day, 14)
  const first = `${day.slice(0, 8)}01`
  const start = addDays(first, -weekday(first))
  const next = addMonths(day, 1)
  const weeks = Math.ceil((weekday(first) + (Date.parse(next) - Date.parse(first)) / 86_400_000) / 7)
  return span(start, weeks * 7)
}

export function step(view: View, day: string, direction: 1 | -1): string {
  if (view === 'month') return addMonths(day, direction)
  return addDays(day, direction * { day: 1, week: 7, agenda: 14 }[view])
}

export function titleOf(view: View, day: string): string {
  const at = new Date(`${day}T00:00:00Z`)
  const format = (options: Intl.DateTimeFormatOptions, date = at) => new Intl.DateTimeFormat(locale(), { timeZone: 'UTC', ...options }).format(date)
  if (view === 'month') return format({ month: 'long', year: 'numeric' })
  if (view === 'day') return format({ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' })
  const days = daysOf(view, day)
  const last = new Date(`${days.at(-1) ?? day}T00:00:00Z`)
  const first = new Date(`${days[0] ?? day}T00:00:00Z`)
  return `${format({ day: 'numeric', month: 'short' }, first)} – ${format({ day: 'numeric', month: 'short', year: 'numeric' }, last)}`
}

export function dayTitle(day: string, long = false): string {
  return new Intl.DateTimeFormat(locale(), { timeZone: 'UTC', weekday: long ? 'long' : 'short', day: 'numeric', month: long ? 'long' : 'short' }).format(new Date(`${day}T00:00:00Z`))
}

export function weekdayNames(): string[] {
  return span('2024-01-01', 7).map((day) => new Intl.DateTimeFormat(currentLanguage(), { timeZone: 'UTC', weekday: 'short' }).format(new Date(`${day}T00:00:00Z`)))
}

/** The instants at which the wall clock of the zone shows this: one, none in the gap when clocks are put forward, two when they are put back. */
export function instantsOf(local: string, zone: string): string[] {
  const wanted = Date.parse(`${local.slice(0, 16)}:00Z`)
  // Clocks change once within these days, if at all.
  const offsets = new Set([-DAY, DAY].map((away) => offsetOf(wanted + away, zone)))
  const found = [...offsets].map((offset) => wanted - offset).filter((at) => offsetOf(at, zone) === wanted - at)
  return found.sort((first, second) => first - second).map((at) => new Date(at).toISOString())
}

/** The first of them; of a time that does not exist, the first instant after the gap. */
export function instantOf(local: string, zone: string): string {
  const [first] = instantsOf(local, zone)
  if (first) return first
  const wanted = Date.parse(`${local.slice(0, 16)}:00Z`)
  let [before, after] = [wanted - DAY, wanted + DAY]
  const old = offsetOf(before, zone)
  while (after - before > MINUTE) {
    const middle = Math.floor((before + after) / 2 / MINUTE) * MINUTE
    if (offsetOf(middle, zone) === old) before = middle
    else after = middle
  }
  return new Date(after).toISOString()
}

const MINUTE = 60_000
const DAY = 86_400_000

/** How far the wall clock is ahead of UTC, in milliseconds. */
function offsetOf(at: number, zone: string): number {
  return Date.parse(`${wallOf(new Date(at), zone)}:00Z`) - at
}

function span(start: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => addDays(start, index))
}
