import { describe, expect, it } from 'vitest'
import type { CalendarEvent } from './Calendar'
import { apart, strength } from './often'

function event(series: string | null, at: string, more: Partial<CalendarEvent> = {}): CalendarEvent {
  return { key: `${series}-${at}`, at, title: series ?? 'content', series, status: 'upcoming', ...more }
}
const hours = (day: string) => Array.from({ length: 24 }, (_, hour) => `${day}T${String(hour).padStart(2, '0')}:00:00Z`)

describe('what fires often', () => {
  it('is one line with its counts, and what is seldom stays', () => {
    const events = [...hours('2026-11-18').map((at) => event('sync', at, { count: 60 })), event('backup', '2026-11-18T02:30:00Z'), event(null, '2026-11-18T09:00:00Z')]
    const { seldom, often } = apart(events, 'UTC', 'day')
    expect(seldom.map((each) => each.title).sort()).toEqual(['backup', 'content'])
    expect(often.map((each) => [each.title, each.count, each.failed])).toEqual([['sync', 1440, 0]])
    expect([...(often[0]?.cells ?? [])]).toEqual([['2026-11-18', { count: 1440, failed: 0 }]])
  })

  it('shows its failures by the hour', () => {
    const events = hours('2026-11-18').flatMap((at) => [event('sync', at, { status: 'success', past: true }), ...(at.includes('T03') ? ['1', '2'].map((minute) => event('sync', at.replace(':00:00', `:0${minute}:00`), { status: 'dead', past: true })) : [])])
    const { seldom, often } = apart(events, 'UTC', 'hour')
    expect(seldom.map((each) => [each.at, each.count, each.status])).toEqual([['2026-11-18T03:01:00Z', 2, 'dead']])
    expect(often[0]?.cells.get('2026-11-18T03')).toEqual({ count: 3, failed: 2 })
  })

  it('is what happens on one day of the zone, not in the whole range', () => {
    const daily = Array.from({ length: 7 }, (_, day) => event('daily', `2026-11-${16 + day}T23:30:00Z`))
    expect(apart(daily, 'Europe/Berlin', 'day').often).toEqual([])
  })
})

describe('strength', () => {
  it('is nothing for nothing, and most for the highest', () => {
    expect([strength(0, 10), strength(1, 1000), strength(250, 1000), strength(1000, 1000)]).toEqual([0, 1, 2, 4])
  })
})
