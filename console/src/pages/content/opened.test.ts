import { describe, expect, it } from 'vitest'
import { spanning, windowsOf } from './opened'

const entry = (window_id: string | null, action: string, scheduled_at_utc: string, status = 'pending') => ({ window_id, action, scheduled_at_utc, status }) as never

describe('windows', () => {
  it('are what opens them with what closes them', () => {
    const found = windowsOf([entry('c_1', 'publish', '1'), entry(null, 'publish', '2'), entry('c_1', 'unpublish', '3')])
    expect(found.map((each) => [each.id, each.starts, each.ends])).toEqual([['c_1', '1', '3']])
  })
  it('may begin before and end after what is shown, and open again', () => {
    const found = windowsOf([entry('c_1', 'unpublish', '1'), entry('c_2', 'publish', '2', 'failed'), entry('c_1', 'publish', '4'), entry('c_1', 'unpublish', '5')])
    expect(found.map((each) => [each.id, each.starts, each.ends, each.failed])).toEqual([['c_1', null, '1', false], ['c_2', '2', null, true], ['c_1', '4', '5', false]])
  })
  it('that began before and end after what is shown are in it, but for those that were not opened', () => {
    const end = (window_id: string | null, window_opens_at: string | null) => ({ window_id, window_opens_at, scheduled_at_utc: '2027-09-01T00:00:00Z' }) as never
    const found = spanning([end('c_1', '2027-01-01T00:00:00Z'), end('c_2', null), end(null, null), end('c_3', '2027-08-01T00:00:00Z')], '2027-03-01T00:00:00Z')
    expect(found.map((each) => [each.id, each.starts, each.ends])).toEqual([['c_1', '2027-01-01T00:00:00Z', '2027-09-01T00:00:00Z']])
  })
})
