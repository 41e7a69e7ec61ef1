import { describe, expect, it } from 'vitest'
import { told, wishesOf } from './many'

const rowsOf = (count: number) => Array.from({ length: count }, (_, place) => ({ id: `n_${place}` }))

describe('acting on many', () => {
  it('names selected ones, some in each call', () => {
    const wishes = wishesOf('cancel', { rows: rowsOf(450), all: false, filters: { status: 'held' } }, (row) => row.id)
    expect(wishes.map((wish) => (wish.filter['ids'] as string[]).length)).toEqual([200, 200, 50])
    expect(wishes[0]?.filter).not.toHaveProperty('status')
  })
  it('means the filters of the list when all that match are selected', () => {
    expect(wishesOf('pause', { rows: rowsOf(3), all: true, filters: { search: 'spring', sort: '-name' } }, (row) => row.id)).toEqual([{ action: 'pause', filter: { search: 'spring' } }])
    expect(wishesOf('pause', { rows: rowsOf(3), all: true, filters: {} }, (row) => row.id)).toEqual([{ action: 'pause', filter: { all: true } }])
  })
  it('tells what was refused, and why', () => {
    expect(told({ done: 2, refused: 0, why: null })).toBe('2 were changed')
    expect(told({ done: 1, refused: 3, why: 'c_1 is part of the release cr_1' })).toBe('1 was changed · 3 were refused: c_1 is part of the release cr_1')
  })
})
