import { describe, expect, it } from 'vitest'
import { csvOf, everyRow } from './rows'

describe('rows as a file', () => {
  it('have a column for each field, with quotes where they are needed, and no formulas', () => {
    expect(csvOf([{ id: 1, name: 'a, "b"' }, { name: '=1+1', more: { x: [1] } }])).toBe('id,name,more\r\n1,"a, ""b""",\r\n,\'=1+1,"{""x"":[1]}"\r\n')
  })

  it('are read page after page, up to a number', async () => {
    const load = async (cursor: string | null) => ({ items: [Number(cursor ?? 0)], cursor: cursor === '4' ? null : String(Number(cursor ?? 0) + 1), total: null, estimated: false })
    expect(await everyRow(load)).toEqual({ items: [0, 1, 2, 3, 4], cut: false })
    expect(await everyRow(load, 2)).toEqual({ items: [0, 1], cut: true })
  })
})
