/** Instants in words: pure functions, so that they can be tested without a page. */
import { locale, t, tn } from '@/i18n'

export type ZoneChoice = 'mine' | 'job' | 'utc'

export function browserZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}

const UNITS = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** “in 4 minutes”, “3 hours ago”; under a second “now”. */
export function relative(at: Date, now: Date): string {
  const seconds = (at.getTime() - now.getTime()) / 1000
  const size = Math.abs(seconds)
  if (size < 1) return t('now')
  const format = distanceFormat(locale())
  for (const [unit, length] of UNITS) {
    if (size >= length || unit === 'second') return format.format(Math.trunc(seconds / length), unit)
  }
  return ''
}

/** What is not due before it is told to be stands at the end of the calendar. */
export function isUnset(at: string): boolean {
  return at.startsWith('9999-')
}

/** “4:05”, “2 d 3 h”: for countdowns. */
export function countdown(seconds: number): string {
  if (seconds <= 0) return t('now')
  const whole = Math.floor(seconds)
  const days = Math.floor(whole / 86_400)
  if (days > 0) return t('{days} d {hours} h', { days, hours: Math.floor((whole % 86_400) / 3600) })
  const hours = Math.floor(whole / 3600)
  const minutes = Math.floor((whole % 3600) / 60)
  const rest = String(whole % 60).padStart(2, '0')
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`
}

/** “340 ms”, “4.2 s”, “3 min 5 s”, “2 h 10 min”. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return '–'
  const size = Math.abs(seconds)
  if (size < 0.0005) return '0 ms'
  if (size < 1) return `${Math.round(seconds * 1000)} ms`
  if (size < 60) return `${trimmed(seconds, size < 10 ? 1 : 0)} s`
  if (size < 3600) return joined(size, 60, 'min', 1, 's')
  if (size < 86_400) return joined(size, 3600, 'h', 60, 'min')
  return joined(size, 86_400, 'd', 3600, 'h')
}

function joined(size: number, large: number, name: string, small: number, rest: string): string {
  const left = Math.floor((size % large) / small)
  return `${Math.floor(size / large)} ${name}${left ? ` ${left} ${rest}` : ''}`
}

function trimmed(value: number, digits: number): string {
  return new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(value)
}

/** “Wed 18 Nov 2026, 14:05:09 CET”. */
export function exactly(at: Date, zone: string): string {
  return formatOf(locale(), {
    timeZone: zone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  }).format(at)
}

/** “14:05”, or with the day if it is another than that of `now`. */
export function shortly(at: Date, zone: string, now: Date, seconds: boolean | 'ms' = false): string {
  const clock = formatOf(locale(), {
    timeZone: zone,
    hour: '2-digit',
    minute: '2-digit',
    ...(seconds ? { second: '2-digit' } : {}),
    ...(seconds === 'ms' ? { fractionalSecondDigits: 3 } : {}),
    hourCycle: 'h23',
  }).format(at)
  if (dayOf(at, zone) === dayOf(now, zone)) return clock
  const far = Math.abs(at.getTime() - now.getTime()) > 300 * 86_400_000
  const day = formatOf(locale(), {
    timeZone: zone,
    day: 'numeric',
    month: 'short',
    ...(far ? { year: 'numeric' } : {}),
  }).format(at)
  return `${day}, ${clock}`
}

/** Making one takes longer than using it a hundred times, and a calendar asks thousands of times. */
const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(language: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = language + JSON.stringify(options)
  let format = formats.get(key)
  if (!format) {
    format = new Intl.DateTimeFormat(language, options)
    formats.set(key, format)
  }
  return format
}

const distances = new Map<string, Intl.RelativeTimeFormat>()

function distanceFormat(language: string): Intl.RelativeTimeFormat {
  const format = distances.get(language) ?? new Intl.RelativeTimeFormat(language, { numeric: 'always', style: 'short' })
  distances.set(language, format)
  return format
}

const walls = new Map<string, Intl.DateTimeFormat>()

/** “2026-11-18” on the wall clock of the zone. */
export function dayOf(at: Date, zone: string): string {
  return wallOf(at, zone).slice(0, 10)
}

/** “2026-11-18T14:05” on the wall clock of the zone. */
export function wallOf(at: Date, zone: string): string {
  let format = walls.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
    walls.set(zone, format)
  }
  const [day = '', clock = ''] = format.format(at).split(', ')
  return `${day}T${clock}`
}

/** “CET”, “GMT+2”. */
export function abbreviation(zone: string, at: Date): string {
  const parts = formatOf(locale(), { timeZone: zone, timeZoneName: 'short' }).formatToParts(at)
  return parts.find((part) => part.type === 'timeZoneName')?.value ?? zone
}

/** “09:00 CET · 17:00 GMT+9”: one time on several clocks. The day is said again where it is another. */
export function inZones(at: Date, zones: string[], now: Date): string {
  const [first = 'UTC'] = zones
  return zones
    .map((zone) => `${dayOf(at, zone) === dayOf(at, first) && zone !== first ? wallOf(at, zone).slice(11) : shortly(at, zone, now)} ${abbreviation(zone, at)}`)
    .join(' · ')
}

export function validZone(zone: string | null | undefined): string {
  if (!zone) return 'UTC'
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return zone
  } catch {
    return 'UTC'
  }
}

/** How old what is shown is: “live”, “3 s old”. */
export function age(seconds: number): string {
  return seconds < 3 ? t('just now') : seconds < 60 ? tn('{count} s ago', '{count} s ago', Math.floor(seconds)) : duration(seconds)
}
