import { describe, expect, it } from 'vitest'

import { punctuality } from './punctuality'

describe('the share of runs on time', () => {
  it('counts only what has a time of a schedule', () => {
    expect(punctuality({ on_time: 97, late: 3 })).toBe('97 %')
    expect(punctuality({ on_time: 0, late: 0 })).toBe('–')
  })
})
