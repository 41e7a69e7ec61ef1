import { expect, it } from 'vitest'
import { mergedLines } from './lines'

const line = (at: string, message = 'a') => ({ at, attempt: 1, level: 'info', message })

it('a line that was asked for and came by itself is there once, two that say the same twice', () => {
  expect(mergedLines([line('1'), line('2')], [line('2'), line('3')]).map((each) => each.at)).toEqual(['1', '2', '3'])
  expect(mergedLines([line('1')], [line('1'), line('1')]).map((each) => each.at)).toEqual(['1', '1'])
  expect(mergedLines([], [line('1', 'b'), line('1', 'b')])).toHaveLength(2)
})
