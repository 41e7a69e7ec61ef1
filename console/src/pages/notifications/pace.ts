/** Figures of a campaign for its bars: pure, so that they can be tested without a page. */
import type { CampaignCheck, CampaignCounts, CampaignMinute, CampaignZone } from '@/api/schema'

const MINUTE = 60_000
/** More minutes than these are put together. */
const MOST_BARS = 90
/** With fewer the bars would be walls: there was nothing before the first one. */
const FEWEST_BARS = 30

/** The minutes from the first to the last, those without a message as well; several together where there are many. */
export function minutesOf(minutes: CampaignMinute[]): CampaignMinute[] {
  const first = minutes[0]
  const last = minutes.at(-1)
  if (!first || !last) return []
  const end = Date.parse(last.at)
  const start = Math.min(Date.parse(first.at), end - (FEWEST_BARS - 1) * MINUTE)
  const width = Math.max(1, Math.ceil(((end - start) / MINUTE + 1) / MOST_BARS)) * MINUTE
  const made = Array.from({ length: Math.floor((end - start) / width) + 1 }, (_, place) => ({ at: new Date(start + place * width).toISOString(), sent: 0 }))
  for (const each of minutes) {
    const bar = made[Math.floor((Date.parse(each.at) - start) / width)]
    if (bar) bar.sent += each.sent
  }
  return made
}

/** What a bar is made of, in percent, without what is nothing. */
export function partsOf(counts: object): [string, number][] {
  const parts = Object.entries(counts as Record<string, unknown>).filter((part): part is [string, number] => part[0] !== 'total' && typeof part[1] === 'number' && part[1] > 0)
  const all = parts.reduce((sum, [, value]) => sum + value, 0)
  return parts.map(([name, value]) => [name, (value / all) * 100])
}

/** The zones whose messages are due at this instant. */
export function zonesAt(check: CampaignCheck | null, at: string): CampaignZone[] {
  return check?.zones.filter((zone) => zone.send_at_utc !== null && Date.parse(zone.send_at_utc) === Date.parse(at)) ?? []
}

/** How many have an end: what was cancelled never had one. */
export function doneOf({ total, left, cancelled }: CampaignCounts): number {
  return total - left - cancelled
}

/** The same in percent. */
export function doneShare(counts: CampaignCounts): number {
  return counts.total ? (doneOf(counts) / counts.total) * 100 : 0
}
