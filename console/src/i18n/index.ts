/**
 * Texts of the console. The English text is the key: what a page says can be read in the page. A catalogue maps it to
 * another language; what it lacks stays English. `{name}` is replaced by a value.
 *
 *     t('Pause {name}', { name })
 *     tn('{count} run', '{count} runs', 3)
 */
import { useSyncExternalStore } from 'react'
import { keep, kept } from '@/parts/kept'

export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const
export type Language = keyof typeof LANGUAGES
export type Catalogue = Readonly<Record<string, string>>
export type Values = Record<string, string | number | null | undefined>

const STORED = 'sexton.language'
let language: Language = 'en'
let catalogue: Catalogue = {}
let sentences: Sentence[] = []
const listeners = new Set<() => void>()

export function t(text: string, values?: Values): string {
  const found = catalogue[text] ?? text
  return values ? fill(found, values) : found
}

/** `count` is put in as a number of the language. */
export function tn(one: string, other: string, count: number, values?: Values): string {
  const text = count === 1 ? one : other
  return fill(catalogue[text] ?? text, { count: number(count), ...values })
}

/** A sentence of the server in the language of the page; one that is not known stays as it came. */
export function said(text: string): string {
  for (const { pattern, translated } of sentences) {
    const found = pattern.exec(text)
    if (found) return fill(translated, Object.fromEntries(Object.entries(found.groups ?? {}).map(([name, value]) => [name, said(value)])))
  }
  return text
}

interface Sentence {
  pattern: RegExp
  translated: string
}

/** Those with the most fixed text first: a place takes whatever there is. */
function sentencesOf(known: Catalogue): Sentence[] {
  const fixed = (text: string) => text.replace(/\{\w+\}/g, '').length
  return Object.entries(known)
    .toSorted(([one], [other]) => fixed(other) - fixed(one))
    .map(([text, translated]) => ({ pattern: new RegExp(`^${text.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{(\w+)\}/g, '(?<$1>.+?)')}$`, 's'), translated }))
}

export function fill(text: string, values: Values): string {
  return text.replace(/\{(\w+)\}/g, (all, name: string) => (values[name] === undefined || values[name] === null ? all : String(values[name])))
}

export function currentLanguage(): Language {
  return language
}

/** For `Intl`: English with 24 hours, as logs have it. */
export function locale(): string {
  return language === 'en' ? 'en-GB' : language
}

export function number(value: number, digits = 0): string {
  return new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(value)
}

export function useLanguage(): Language {
  return useSyncExternalStore(subscribe, currentLanguage)
}

export async function setLanguage(chosen: Language): Promise<void> {
  catalogue = chosen === 'de' ? (await import('./de')).default : {}
  sentences = chosen === 'de' ? sentencesOf((await import('./de.server')).default) : []
  language = chosen
  document.documentElement.lang = chosen
  keep(STORED, chosen)
  for (const listener of listeners) listener()
}

/** The language that was chosen, or that the browser asks for. */
export function preferredLanguage(): Language {
  const asked = kept(STORED) ?? navigator.language.slice(0, 2)
  return asked in LANGUAGES ? (asked as Language) : 'en'
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
