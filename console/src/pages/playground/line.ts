/** Where times stand on a line, and differences by the day: pure, so that they can be tested without a page. */
import { dayOf, wallOf } from '@/parts/instant'

const DAY = 86_400_000
const TICKS = 6

export interface Scale {
  times: string[]
  /** In percent, from the first to the last. */
  place(at: string): number
  /** Instants with a text below. */
  ticks: string[]
  /** Whether days are told, or times of the day. */
  days: boolean
}

/** Null with fewer than two times: there is nothing to draw. */
export function scaleOf(times: string[]): Scale | null {
  const at = times.map((each) => Date.parse(each))
  const [first, last] = [Math.min(...at), Math.max(...at)]
  if (at.length < 2 || first === last) return null
  const ticks = Array.from({ length: TICKS }, (_, number) => new Date(first + ((last - first) * number) / (TICKS - 1)).toISOString())
  return { times, place: (each) => ((Date.parse(each) - first) / (last - first)) * 100, ticks, days: last - first > 2 * DAY }
}

export interface DayDifference { day: string; first: string[]; second: string[] }

/** What only one of the two has on each day, as times of the wall clock. */
export function byDay(differences: { at: string; only_in: string }[], zone: string): DayDifference[] {
  const found = new Map<string, DayDifference>()
  for (const each of differences) {
    const at = new Date(each.at)
    const day = dayOf(at, zone)
    const row = found.get(day) ?? { day, first: [], second: [] }
    row[each.only_in === 'first' ? 'first' : 'second'].push(wallOf(at, zone).slice(11))
    found.set(day, row)
  }
  return [...found.values()]
}
