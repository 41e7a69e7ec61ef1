/** The variables of a template as the fields of a form, and back. */
import { ExactNumber, writeExact } from '@/api/exact'
import type { VariableSpec } from '@/api/schema'
import { parsedAt } from '@/parts/field'

export const TYPES = ['string', 'number', 'integer', 'boolean', 'date', 'datetime', 'list', 'object', 'any'] as const
export type Type = (typeof TYPES)[number]
// Their values are written as they are, those of the others as JSON.
const TEXTS: readonly string[] = ['string', 'date', 'datetime']

export interface Variable {
  name: string
  type: Type
  /** Empty: there is none. */
  default: string
  sample: string
  /** What the form does not show. */
  rest: Omit<VariableSpec, 'type' | 'default' | 'sample'>
}

export function rowsOf(variables: Record<string, unknown>): Variable[] {
  return Object.entries(variables).map(([name, spec]) => {
    const { type = 'any', default: usual, sample, ...rest } = spec as VariableSpec
    return { name, type, default: shown(usual), sample: shown(sample), rest }
  })
}

/** Raises `FieldError` for a value that is no JSON where it has to be. Lines without a name are left out. */
export function specsOf(rows: Variable[]): Record<string, VariableSpec> {
  return Object.fromEntries(rows.filter(({ name }) => name.trim()).map((row) => {
    const read = (text: string, field: string) => (TEXTS.includes(row.type) ? text : parsedAt(`variables.${row.name}.${field}`, text))
    return [row.name.trim(), { ...row.rest, type: row.type, ...(row.default === '' ? {} : { default: read(row.default, 'default') }), ...(row.sample === '' ? {} : { sample: read(row.sample, 'sample') }) }]
  }))
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : value instanceof ExactNumber ? value.text : writeExact(value, 0).replaceAll('\n', '')
}
