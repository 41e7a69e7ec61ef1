/** Every text of the console has a German one, with the same places for values. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fill, setLanguage, t, tn } from '.'
import de from './de'

const SOURCE = join(import.meta.dirname, '..')

function texts(): string[] {
  const found = new Set<string>()
  const read = (literal: string) => found.add(literal.slice(1, -1).replaceAll("\\'", "'").replaceAll('\\"', '"'))
  for (const name of readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })) {
    if (!/\.tsx?$/.test(name) || name.includes('.test.') || name.endsWith('de.ts') || name.startsWith('i18n')) continue
    const source = readFileSync(join(SOURCE, name), 'utf8')
    const literal = `('(?:[^'\\\\]|\\\\.)*'|"(?:[^"\\\\]|\\\\.)*")`
    for (const match of source.matchAll(new RegExp(`\\bt\\(\\s*${literal}`, 'g'))) read(match[1] ?? '')
    for (const match of source.matchAll(new RegExp(`\\btn\\(\\s*${literal},\\s*${literal}`, 'g'))) [match[1], match[2]].forEach((each) => read(each ?? ''))
  }
  return [...found]
}

const places = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort()

describe('the German catalogue', () => {
  it('has every text', () => {
    expect(texts().filter((text) => !(text in de))).toEqual([])
  })

  it('has the same places for values', () => {
    for (const [text, translated] of Object.entries(de)) expect(places(translated), text).toEqual(places(text))
  })

  it('is used when it is chosen', async () => {
    await setLanguage('de')
    expect(t('Jobs')).toBe(de['Jobs'])
    expect(tn('{count} job', '{count} jobs', 1200)).toContain('1.200')
    await setLanguage('en')
    expect(t('Jobs')).toBe('Jobs')
  })
})

describe('a text', () => {
  it('keeps a place that has no value', () => {
    expect(fill('{a} of {b}', { a: 1 })).toBe('1 of {b}')
  })
})
