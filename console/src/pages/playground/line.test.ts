import { describe, expect, it } from 'vitest'
import { byDay, scaleOf } from './line'

describe('the line', () => {
  it('goes from the first to the last, and tells days where it is long', () => {
    const scale = scaleOf(['2027-03-01T01:00:00Z', '2027-03-06T01:00:00Z', '2027-03-11T01:00:00Z'])
    expect(scale?.place('2027-03-06T01:00:00Z')).toBe(50)
    expect([scale?.days, scale?.ticks[0], scale?.ticks.at(-1)]).toEqual([true, '2027-03-01T01:00:00.000Z', '2027-03-11T01:00:00.000Z'])
    expect(scaleOf(['2027-03-01T01:00:00Z', '2027-03-01T02:00:00Z'])?.days).toBe(false)
  })
  it('is none for one time', () => expect(scaleOf(['2027-03-01T01:00:00Z'])).toBeNull())
})

describe('the difference', () => {
  it('is told by the day of the zone', () => {
    const found = byDay([{ at: '2027-03-01T23:30:00Z', only_in: 'first' }, { at: '2027-03-02T02:00:00Z', only_in: 'second' }, { at: '2027-03-03T02:00:00Z', only_in: 'second' }], 'Europe/Berlin')
    expect(found).toEqual([{ day: '2027-03-02', first: ['00:30'], second: ['03:00'] }, { day: '2027-03-03', first: [], second: ['03:00'] }])
  })
})
