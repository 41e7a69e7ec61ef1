import { describe, expect, it } from 'vitest'
import { dayIn, instantOf, instantsOf, daysOf, step, weekday } from './calendar/days'
import { countdown, dayOf, duration, exactly, inZones, isUnset, relative, shortly, validZone, wallOf } from './instant'

const at = (text: string) => new Date(text)

describe('instants in words', () => {
  it('tell the end of the calendar from a time', () => expect([isUnset('9999-01-01T00:00:00Z'), isUnset('2999-01-01T00:00:00Z')]).toEqual([true, false]))

  it('are relative to now', () => {
    expect(relative(at('2026-11-18T05:04:00Z'), at('2026-11-18T05:00:00Z'))).toMatch(/^in 4 min/)
    expect(relative(at('2026-11-18T02:00:00Z'), at('2026-11-18T05:00:00Z'))).toMatch(/^3 hr ago|^3 h ago|^3 hours ago/)
  })

  it('count down', () => {
    expect([-1, 5, 65, 3725, 90_000].map(countdown)).toEqual(['now', '0:05', '1:05', '1:02:05', '1 d 1 h'])
  })

  it('name their zone', () => {
    expect(exactly(at('2026-07-01T10:00:00Z'), 'Europe/Berlin')).toMatch(/12:00:00.*(CEST|GMT\+2)/)
    expect(exactly(at('2026-11-01T05:30:00Z'), 'America/New_York')).toMatch(/01:30:00/)
  })

  it('show the day only if it is another', () => {
    expect(shortly(at('2026-11-18T08:05:00Z'), 'UTC', at('2026-11-18T05:00:00Z'))).toBe('08:05')
    expect(shortly(at('2026-11-19T08:05:00Z'), 'UTC', at('2026-11-18T05:00:00Z'))).toBe('19 Nov, 08:05')
  })

  it('are on two clocks, with the day where it is another', () => {
    const now = at('2026-11-18T05:00:00Z')
    expect(inZones(at('2026-11-18T14:00:00Z'), ['America/New_York', 'Europe/Berlin'], now)).toMatch(/^09:00 (EST|GMT-5) · 15:00 (CET|GMT\+1)$/)
    expect(inZones(at('2026-11-18T16:00:00Z'), ['UTC', 'Asia/Tokyo'], now)).toMatch(/^16:00 UTC · 19 Nov, 01:00 (JST|GMT\+9)$/)
  })

  it('know the day and the wall clock of a zone', () => {
    expect(dayOf(at('2026-11-18T23:30:00Z'), 'Asia/Tokyo')).toBe('2026-11-19')
    expect(wallOf(at('2026-11-18T00:30:00Z'), 'America/New_York')).toBe('2026-11-17T19:30')
    expect(validZone('Nowhere/City')).toBe('UTC')
  })

  it('say how long something took', () => {
    expect([null, 0, 0.34, 4.24, 42, 185, 7800, 100_000].map(duration)).toEqual(['–', '0 ms', '340 ms', '4.2 s', '42 s', '3 min 5 s', '2 h 10 min', '1 d 3 h'])
  })
})

describe('a calendar', () => {
  it('turns a wall clock into an instant, on both sides of a clock change', () => {
    expect(instantOf('2026-03-28T09:00', 'Europe/Berlin')).toBe('2026-03-28T08:00:00.000Z')
    expect(instantOf('2026-03-30T09:00', 'Europe/Berlin')).toBe('2026-03-30T07:00:00.000Z')
    for (const zone of ['America/St_Johns', 'Asia/Kathmandu', 'UTC', 'Pacific/Kiritimati']) {
      expect(wallOf(new Date(instantOf('2026-06-15T23:59', zone)), zone)).toBe('2026-06-15T23:59')
    }
  })

  it('knows times that happen twice, and times that do not happen', () => {
    expect(instantsOf('2027-10-31T02:30', 'Europe/Berlin')).toEqual(['2027-10-31T00:30:00.000Z', '2027-10-31T01:30:00.000Z'])
    expect(instantsOf('2027-03-28T02:30', 'Europe/Berlin')).toEqual([])
    expect(instantOf('2027-03-28T02:30', 'Europe/Berlin')).toBe('2027-03-28T01:00:00.000Z')
    expect(instantOf('2027-04-04T02:15', 'Australia/Lord_Howe')).toBe('2027-04-03T15:45:00.000Z')
    expect(instantOf('2026-10-04T02:15', 'Australia/Lord_Howe')).toBe('2026-10-03T15:30:00.000Z')
    expect(instantsOf('2026-06-15T02:30', 'UTC')).toHaveLength(1)
  })

  it('shows whole weeks from Monday', () => {
    const days = daysOf('month', '2026-11-18')
    expect(days[0]).toBe('2026-10-26')
    expect(days.length % 7).toBe(0)
    expect(days).toContain('2026-11-30')
    expect(weekday('2026-11-16')).toBe(0)
    expect(daysOf('week', '2026-11-22')[0]).toBe('2026-11-16')
    expect(step('month', '2026-01-31', 1)).toBe('2026-02-01')
  })
})

it('A day of an address is a day, or none', () => {
  expect([null, '', '2026-13-01', '2026-1-1', '2026-11-18'].map(dayIn)).toEqual([null, null, null, null, '2026-11-18'])
})
