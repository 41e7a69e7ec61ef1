/** JSON as it was sent: big numbers exact, secrets masked. */
import { ExactNumber, writeExact } from '@/api/exact'
import { t } from '@/i18n'
import { Code } from './Copy'

const SECRET = /pass(word|wd)?|secret|token|api[-_]?key|authorization|cookie|credential|private[-_]?key/i
export const MASK = '••••••'

/** Values whose names sound like secrets are not shown; a reference to a stored secret has no value to hide. */
export function masked(value: unknown, name = ''): unknown {
  if (value === null || value === undefined) return value
  const plain = typeof value === 'string' || typeof value === 'number' || value instanceof ExactNumber
  if (SECRET.test(name) && plain && !String(value).startsWith('${')) return MASK
  if (Array.isArray(value)) return value.map((each) => masked(each, name))
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, masked(each, key)]))
  }
  return value
}

export function Json({ value, mask = true }: { value: unknown; mask?: boolean }) {
  if (value === null || value === undefined) return <span className="quiet">{t('none')}</span>
  return <Code>{writeExact(mask ? masked(value) : value)}</Code>
}
