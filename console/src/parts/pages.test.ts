import { describe, expect, it } from 'vitest'
import { isTired } from './pages'

const pages = (...rows: number[]) => rows.map((count) => ({ items: Array.from({ length: count }) }))

describe('a list', () => {
  it('looks through some pages with few rows or none by itself, and not through all', () => {
    expect(isTired([])).toBe(false)
    expect(isTired(pages(0, 0, 0))).toBe(false)
    expect(isTired(pages(...Array<number>(10).fill(0)))).toBe(true)
    expect(isTired(pages(50, 1, ...Array<number>(9).fill(0)))).toBe(true)
  })

  it('goes on where there are rows again', () => {
    expect(isTired(pages(...Array<number>(10).fill(0), 50))).toBe(false)
    expect(isTired(pages(...Array<number>(30).fill(50)))).toBe(false)
  })
})
