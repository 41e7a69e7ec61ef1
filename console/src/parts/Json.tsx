/** JSON as it was sent: big numbers exact, secrets masked. */
import { ExactNumber, writeExact } from '@/api/exact'
import { t } from '@/i18n'
import { Code } from './Copy'
import { FieldError } from './field'

const SECRET = /pass(word|wd)?|secret|token|api[-_]?key|authorization|cookie|credential|private[-_]?key/i
export const MASK = '••••••'

/** Values whose names sound like secrets are not shown, nor what is inside of them; a reference to a stored secret has no value to hide. */
export function masked(value: unknown, name = '', inside = false): unknown {
  if (value === null || value === undefined) return value
  const secret = inside || SECRET.test(name)
  const plain = typeof value === 'string' || typeof value === 'number' || value instanceof ExactNumber
  if (secret && plain && !String(value).startsWith('${')) return MASK
  if (Array.isArray(value)) return value.map((each) => masked(each, name, secret))
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, masked(each, key, secret)]))
  }
  return value
}

/** The value as it was edited behind the mask: where the mask still stands, what it stands for. */
export function unmasked(field: string, value: unknown, original: unknown): unknown {
  if (value === MASK) {
    if (typeof original === 'object' && !(original instanceof ExactNumber)) throw new FieldError(field, t('{mask} stands for no value here: write one.', { mask: MASK }))
    return original
  }
  if (Array.isArray(value)) return value.map((each, place) => unmasked(field, each, Array.isArray(original) ? original[place] : null))
  if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    const known = (typeof original === 'object' && original !== null ? original : {}) as Record<string, unknown>
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, unmasked(field, each, known[key] ?? null)]))
  }
  return value
}

export function Json({ value, mask = true }: { value: unknown; mask?: boolean }) {
  if (value === null || value === undefined) return <p className="quiet">{t('none')}</p>
  return <Code>{writeExact(mask ? masked(value) : value)}</Code>
}
