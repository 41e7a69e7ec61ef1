import { describe, expect, it } from 'vitest'
import { MOST_POINTS, note, ratesOf, type Point } from './speed'

describe('the speed of a provider', () => {
  it('is what was accepted between two looks', () => {
    expect(ratesOf([{ at: 0, accepted: 10 }, { at: 5000, accepted: 30 }, { at: 10_000, accepted: 30 }, { at: 15_000, accepted: 2 }])).toEqual([4, 0, 0])
    expect(ratesOf([{ at: 0, accepted: 10 }])).toEqual([])
  })
  it('is noted once for each look, and not for ever', () => {
    const seen = new Map<string, Point[]>()
    for (let look = 0; look < 100; look += 1) for (const _ of [1, 2]) note(seen, [{ name: 'mail', accepted: look }], look)
    expect(seen.get('mail')).toHaveLength(MOST_POINTS + 1)
  })
})
