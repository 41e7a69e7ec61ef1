import { describe, expect, it } from 'vitest'
import { doneShare, minutesOf, partsOf, zonesAt } from './pace'

describe('the minutes of a campaign', () => {
  it('have no holes', () => {
    const found = minutesOf([{ at: '2027-03-14T07:00:00Z', sent: 10 }, { at: '2027-03-14T07:03:00Z', sent: 5 }])
    expect(found.map((each) => each.sent)).toEqual([...Array(26).fill(0), 10, 0, 0, 5])
  })
  it('are put together where there are many, and none is lost', () => {
    const many = Array.from({ length: 300 }, (_, minute) => ({ at: new Date(Date.UTC(2027, 2, 14, 7, minute)).toISOString(), sent: 2 }))
    const found = minutesOf(many)
    expect(found.length).toBeLessThanOrEqual(90)
    expect(found.reduce((sum, each) => sum + each.sent, 0)).toBe(600)
  })
  it('are none of none', () => expect(minutesOf([])).toEqual([]))
})

describe('the parts of a bar', () => {
  it('are percent of all, without the total', () => {
    expect(partsOf({ total: 8, sent: 6, failed: 0, left: 2 })).toEqual([['sent', 75], ['left', 25]])
  })
})

describe('the zones of a wave', () => {
  it('are those of its instant, however it is written', () => {
    const zone = { timezone: 'Europe/Berlin', send_at_utc: '2027-03-14T07:00:00Z', recipients: 3, note: null }
    const check = { zones: [zone, { ...zone, timezone: 'Asia/Tokyo', send_at_utc: null }] }
    expect(zonesAt(check as never, '2027-03-14T07:00:00.000Z')).toEqual([zone])
    expect(zonesAt(null, '2027-03-14T07:00:00Z')).toEqual([])
  })
})

it('a campaign that was cancelled is as far as it came', () => {
  const counts = { total: 200, sent: 40, failed: 10, suppressed: 0, expired: 0, unconfirmed: 0, cancelled: 150, left: 0 }
  expect(doneShare(counts)).toBe(25)
  expect(doneShare({ ...counts, total: 0 })).toBe(0)
})
