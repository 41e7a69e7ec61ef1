import { describe, expect, it } from 'vitest'
import { addressOf, targetOf } from './webhook'

describe('a target', () => {
  it('is an address, and perhaps a secret', () => {
    for (const address of [{ url: 'https://ops.example/dead', secret: null }, { url: 'https://ops.example/dead', secret: 'ops' }]) expect(addressOf(targetOf(address))).toEqual(address)
  })
  it('is none if it says more, and would lose it', () => {
    expect(addressOf({ http: { url: 'https://ops.example/dead', headers: { team: 'ops' } } })).toBeNull()
    expect(addressOf({ http: { url: { secret: 'address' } } })).toBeNull()
    expect(addressOf({ message: { redis: { stream: 'dead' } } })).toBeNull()
    expect(addressOf(null)).toBeNull()
  })
})
