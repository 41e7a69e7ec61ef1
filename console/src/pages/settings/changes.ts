/** What differs between two states of an object, field by field. */

export type Change = [path: string, before: string | null, after: string | null]

/** Fields are named by their path: target.http.url. What is the same in both is left out. */
export function changesOf(before: unknown, after: unknown): Change[] {
  const [old, now] = [flat(before), flat(after)]
  const names = [...new Set([...old.keys(), ...now.keys()])]
  return names.map((name): Change => [name, old.get(name) ?? null, now.get(name) ?? null]).filter(([, was, is]) => was !== is)
}

function flat(value: unknown, path = '', into = new Map<string, string>()): Map<string, string> {
  if (value === null || value === undefined) return into
  if (typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length > 0) {
    for (const [name, each] of Object.entries(value)) flat(each, path ? `${path}.${name}` : name, into)
  } else into.set(path || 'value', typeof value === 'string' ? value : JSON.stringify(value))
  return into
}
