import { describe, expect, it } from 'vitest'
import { callingOff } from './bulk'
import { fitting } from './messages'

const rowsOf = (count: number) => Array.from({ length: count }, (_, place) => ({ notification_id: `n_${place}` }))

describe('calling messages off', () => {
  it('names selected ones, some in each call', () => {
    const wishes = callingOff({ rows: rowsOf(450), all: false, filters: { status: 'held' } })
    expect(wishes.map((wish) => wish.filter.ids?.length)).toEqual([200, 200, 50])
    expect(wishes[0]?.filter).not.toHaveProperty('status')
  })
  it('means the filters of the list when all that match are selected', () => {
    expect(callingOff({ rows: rowsOf(3), all: true, filters: { campaign_id: 'k_1', sort: '-user_id' } })).toEqual([{ action: 'cancel', filter: { campaign_id: 'k_1' } }])
    expect(callingOff({ rows: rowsOf(3), all: true, filters: {} })).toEqual([{ action: 'cancel', filter: { all: true } }])
  })
})

describe('the order of messages', () => {
  it('is one that the server knows for these filters', () => {
    expect(fitting({ sort: 'created_at' })).toEqual({ sort: 'created_at' })
    expect(fitting({ sort: '-user_id' })).toEqual({})
    expect(fitting({ sort: '-user_id', campaign_id: 'k_1' })).toEqual({ sort: '-user_id', campaign_id: 'k_1' })
    expect(fitting({ sort: 'created_at', campaign_id: 'k_1' })).toEqual({ campaign_id: 'k_1' })
    expect(fitting({ sort: 'created_at', campaign_id: 'k_1', user_id: 'ann' })).toEqual({ sort: 'created_at', campaign_id: 'k_1', user_id: 'ann' })
  })
})
