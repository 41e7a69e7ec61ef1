/** Every text of the console has a German one, with the same places for values. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fill, said, setLanguage, t, tn } from '.'
import de from './de'
import sentences from './de.server'

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
    for (const [text, translated] of [...Object.entries(de), ...Object.entries(sentences)]) expect(places(translated), text).toEqual(places(text))
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

describe('a sentence of the server', () => {
  it('is translated with what stands in its places', async () => {
    await setLanguage('de')
    expect(said('all workers are busy')).toBe('alle Worker sind beschäftigt')
    expect(said('the queue mail (eu) is paused (deploy)')).toBe('die Warteschlange mail (eu) ist pausiert (deploy)')
    expect(said('fired late by 3 min 2 s; dead after 2 attempts (HTTP 500: a (b))')).toBe('3 min 2 s zu spät ausgelöst; tot nach 2 Versuchen (HTTP 500: a (b))')
    expect(said('3 runs in queue default waiting: no worker has the handler render')).toBe('3 Läufe warten in der Warteschlange default: kein Worker hat den Handler render')
  })

  it('stays as it came if it is not known', async () => {
    await setLanguage('de')
    expect(said('something new is wrong')).toBe('something new is wrong')
    await setLanguage('en')
    expect(said('all workers are busy')).toBe('all workers are busy')
  })
})
