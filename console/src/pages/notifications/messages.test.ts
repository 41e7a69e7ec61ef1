import { describe, expect, it } from 'vitest'
import { fitting } from './messages'

describe('the order of messages', () => {
  it('is one that the server knows for these filters', () => {
    expect(fitting({ sort: 'created_at' })).toEqual({ sort: 'created_at' })
    expect(fitting({ sort: '-user_id' })).toEqual({})
    expect(fitting({ sort: '-user_id', campaign_id: 'k_1' })).toEqual({ sort: '-user_id', campaign_id: 'k_1' })
    expect(fitting({ sort: 'created_at', campaign_id: 'k_1' })).toEqual({ campaign_id: 'k_1' })
    expect(fitting({ sort: 'created_at', campaign_id: 'k_1', user_id: 'ann' })).toEqual({ sort: 'created_at', campaign_id: 'k_1', user_id: 'ann' })
  })
})
