/** What a change changed: pure, so that it can be tested without a page. */
import { writeExact } from '@/api/exact'

export type Difference = [name: string, before: unknown, after: unknown]

/** The fields that differ: before and after. None and null are the same. */
export function differences(before: unknown, after: unknown): Difference[] {
  if (!isRecord(before) && !isRecord(after)) return []
  const [old, next] = [isRecord(before) ? before : {}, isRecord(after) ? after : {}]
  return [...new Set([...Object.keys(old), ...Object.keys(next)])]
    .filter((name) => writeExact(old[name], 0) !== writeExact(next[name], 0))
    .map((name) => [name, old[name], next[name]])
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
