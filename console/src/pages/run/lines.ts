/** The log of a run, from what was asked for and what came by itself. Pure, so that it can be tested without a page. */
import type { LogLine } from '@/api/schema'

/** First those that were asked for, then the others: a line that came both ways is there once, and two that say the same twice. */
export function mergedLines(asked: LogLine[], came: LogLine[]): LogLine[] {
  const known = new Map<string, number>()
  for (const line of asked) known.set(keyOf(line), (known.get(keyOf(line)) ?? 0) + 1)
  const others = came.filter((line) => {
    const left = known.get(keyOf(line)) ?? 0
    if (left > 0) known.set(keyOf(line), left - 1)
    return left === 0
  })
  return [...asked, ...others]
}

function keyOf({ at, level, message }: LogLine): string {
  return `${at} ${level} ${message}`
}
