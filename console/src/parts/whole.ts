/** Lists that are small by nature and arrive whole: what matches, in which order, is decided here instead of by the server. */
export type Sortable = string | number | boolean | Date | null | undefined

export interface WholeRows<T> {
  /** All of them; undefined until they have come. */
  rows: readonly T[] | undefined
  error?: unknown
  /** What the text filter `search` looks through. */
  text(row: T): string
  /** What other filters compare, by their names. */
  values?: Record<string, (row: T) => string>
}

/** The rows that match the filters, sorted by what `orders` has for the name of the order; `-name` is the reverse. What has no value comes last. */
export function matching<T>(whole: WholeRows<T>, filters: Record<string, string>, orders: Record<string, (row: T) => Sortable>, sort: string | undefined, search = 'search'): T[] {
  const words = (filters[search] ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const found = (whole.rows ?? []).filter((row) => {
    const text = words.length ? whole.text(row).toLowerCase() : ''
    return words.every((word) => text.includes(word)) && Object.entries(whole.values ?? {}).every(([name, of]) => !filters[name] || of(row) === filters[name])
  })
  const order = orders[(sort ?? '').replace(/^-/, '')]
  if (!order) return found
  const way = sort?.startsWith('-') ? -1 : 1
  return found.map((row) => [order(row), row] as const).sort(([one], [other]) => compare(one, other, way)).map(([, row]) => row)
}

function compare(one: Sortable, other: Sortable, way: number): number {
  const [none, noOther] = [one ?? null, other ?? null].map((value) => value === null || value === '')
  if (none || noOther) return Number(none) - Number(noOther)
  if (typeof one === 'string' && typeof other === 'string') return way * one.localeCompare(other, undefined, { numeric: true, sensitivity: 'base' })
  return way * (Number(one) - Number(other))
}
