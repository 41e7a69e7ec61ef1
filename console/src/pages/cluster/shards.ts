/** What the map of the shards is drawn from: pure, so that it can be tested without a page. */
import type { ShardView } from '@/api/schema'

/** As many looks as there are in the style sheet; more leaders share them, and have letters of their own. */
export const LOOKS = 8

export interface Leader {
  name: string
  letter: string
  look: number
  shards: ShardView[]
  jobs: number
}

/** Leaders in the order of their names, each with its shards; what has no leader is apart. */
export function leadersOf(shards: ShardView[]): { leaders: Leader[]; without: ShardView[] } {
  const named = new Map<string, ShardView[]>()
  const without: ShardView[] = []
  for (const shard of shards) {
    if (!shard.leader) without.push(shard)
    else named.set(shard.leader, [...(named.get(shard.leader) ?? []), shard])
  }
  const leaders = [...named].sort(([first], [second]) => first.localeCompare(second)).map(([name, own], place) => ({ name, letter: letterOf(place), look: place % LOOKS, shards: own, jobs: own.reduce((sum, shard) => sum + (shard.jobs ?? 0), 0) }))
  return { leaders, without }
}

/** A, B, … Z, AA, AB, … */
export function letterOf(place: number): string {
  return (place >= 26 ? letterOf(Math.floor(place / 26) - 1) : '') + String.fromCharCode(65 + (place % 26))
}

export interface Takeover { at: string; leader: string | null; epoch: number; shards: number[] }

/** The latest takeover of each shard; shards that were taken in the same second are one. */
export function takeoversOf(shards: Pick<ShardView, 'shard' | 'leader' | 'epoch' | 'taken_at'>[]): Takeover[] {
  const found = new Map<string, Takeover>()
  for (const shard of shards) {
    if (!shard.taken_at) continue
    const key = `${shard.taken_at.slice(0, 19)} ${shard.leader ?? ''}`
    const known = found.get(key) ?? { at: shard.taken_at, leader: shard.leader ?? null, epoch: 0, shards: [] }
    known.epoch = Math.max(known.epoch, shard.epoch)
    known.shards.push(shard.shard)
    found.set(key, known)
  }
  return [...found.values()].sort((first, second) => second.at.localeCompare(first.at))
}

/** “0–7, 12, 14–15”. */
export function ranges(numbers: number[]): string {
  const sorted = [...numbers].sort((first, second) => first - second)
  const found: [number, number][] = []
  for (const each of sorted) {
    const last = found.at(-1)
    if (last && each === last[1] + 1) last[1] = each
    else found.push([each, each])
  }
  return found.map(([from, to]) => (from === to ? String(from) : `${from}–${to}`)).join(', ')
}

/** The command in a fix, if it has one: what follows `sexton`, up to the end or a bracket. */
export function commandIn(fix: string): string | null {
  return /(?:^|[\s:`(])(sexton [a-z][^`()]*?)(?=$|[`()]|\.(?:\s|$)|, (?:or|and|then) |; )/.exec(fix)?.[1]?.trim() ?? null
}
