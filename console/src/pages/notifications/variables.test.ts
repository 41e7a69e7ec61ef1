import { expect, it } from 'vitest'
import { FieldError } from '@/parts/field'
import { rowsOf, specsOf } from './variables'

const variables = { name: { type: 'string', required: true, default: 'dear reader', sample: 'Ada' }, count: { type: 'integer', sample: 3 }, items: { type: 'list', default: ['a'] }, when: { type: 'datetime', sample: '2027-03-14T09:00:00Z' } }

it('variables of a template come back as they were', () => {
  expect(specsOf(rowsOf(variables))).toEqual(variables)
})

it('what has no name is left out, and what is no JSON is told at its place', () => {
  const [row] = rowsOf({ count: { type: 'integer' } })
  if (!row) throw new Error('there is no row')
  expect(specsOf([{ ...row, name: ' ' }])).toEqual({})
  expect(() => specsOf([{ ...row, sample: 'three' }])).toThrow(FieldError)
})
