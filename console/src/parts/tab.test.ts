import { describe, expect, it } from 'vitest'
import { tabOf } from './tab'

describe('the tab of an address', () => {
  it('is the one that it names', () => expect(tabOf(['runs', 'changes'], 'changes')).toBe('changes'))
  it('is the first if there is none of that name', () => {
    expect(tabOf(['runs', 'changes'], 'unknown')).toBe('runs')
    expect(tabOf(['runs', 'changes'], null)).toBe('runs')
    expect(tabOf(['runs', 'changes'], '')).toBe('runs')
  })
})
