/** Rows of a list as files, for lists that the server does not export by itself. */
import type { Paged } from '@/api/client'

const MOST_ROWS = 10_000

/** Page after page; `cut`: there are more rows than are read. */
export async function everyRow<T>(load: (cursor: string | null, signal: AbortSignal) => Promise<Paged<T[]>>, most = MOST_ROWS): Promise<{ items: T[]; cut: boolean }> {
  const items: T[] = []
  const { signal } = new AbortController()
  let cursor: string | null = null
  do {
    const page: Paged<T[]> = await load(cursor, signal)
    items.push(...page.items)
    cursor = page.cursor
  } while (cursor && items.length < most)
  return { items: items.slice(0, most), cut: cursor !== null || items.length > most }
}

/** A column for each field that any row has; what is no plain value is written as JSON. A text that a table program would take for a formula begins with an apostrophe. */
export function csvOf(rows: readonly unknown[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row as object)))]
  const lines = rows.map((row) => names.map((name) => cell((row as Record<string, unknown>)[name])).join(','))
  return [names.map(cell).join(','), ...lines].join('\r\n') + '\r\n'
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const plain = typeof value === 'string' ? value : JSON.stringify(value)
  const text = /^[=+\-@\t\r\n＝＋－＠]/.test(plain) ? `'${plain}` : plain
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
