import { describe, expect, it } from 'vitest'
import { matching } from './whole'

interface Queue { name: string; waiting: number | null; state: string; since?: string }
const rows: Queue[] = [
  { name: 'mail-10', waiting: 3, state: 'active', since: '2027-03-02T00:00:00Z' },
  { name: 'Mail-2', waiting: null, state: 'paused' },
  { name: 'reports', waiting: 12, state: 'active', since: '2027-03-01T00:00:00Z' },
]
const whole = { rows, text: (row: Queue) => `${row.name} ${row.state}`, values: { state: (row: Queue) => row.state } }
const orders = { name: (row: Queue) => row.name, waiting: (row: Queue) => row.waiting, since: (row: Queue) => row.since }
const names = (filters: Record<string, string>, sort?: string) => matching(whole, filters, orders, sort).map((row) => row.name)

describe('lists that arrive whole', () => {
  it('stay as they came without filters and order', () => {
    expect(names({})).toEqual(['mail-10', 'Mail-2', 'reports'])
    expect(names({}, 'nothing-known')).toEqual(['mail-10', 'Mail-2', 'reports'])
    expect(matching({ ...whole, rows: undefined }, {}, orders, 'name')).toEqual([])
  })
  it('are searched for every word, whatever its case', () => {
    expect(names({ search: ' MAIL ' })).toEqual(['mail-10', 'Mail-2'])
    expect(names({ search: 'mail paused' })).toEqual(['Mail-2'])
    expect(names({ search: 'nothing' })).toEqual([])
    expect(matching(whole, { queue: 'rep' }, orders, undefined, 'queue').map((row) => row.name)).toEqual(['reports'])
  })
  it('are filtered by what is named, and only by that', () => {
    expect(names({ state: 'active' })).toEqual(['mail-10', 'reports'])
    expect(names({ state: 'active', search: 'rep', other: 'x' })).toEqual(['reports'])
    expect(names({ state: '' })).toHaveLength(3)
  })
  it('are sorted as people read, both ways, and what has no value comes last', () => {
    expect(names({}, 'name')).toEqual(['Mail-2', 'mail-10', 'reports'])
    expect(names({}, '-name')).toEqual(['reports', 'mail-10', 'Mail-2'])
    expect(names({}, 'waiting')).toEqual(['mail-10', 'reports', 'Mail-2'])
    expect(names({}, '-waiting')).toEqual(['reports', 'mail-10', 'Mail-2'])
    expect(names({}, 'since')).toEqual(['reports', 'mail-10', 'Mail-2'])
  })
  it('leave the rows that they were given as they are', () => {
    names({}, '-name')
    expect(rows.map((row) => row.name)).toEqual(['mail-10', 'Mail-2', 'reports'])
  })
})
