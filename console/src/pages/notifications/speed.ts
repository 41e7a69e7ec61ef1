/** How fast a provider accepts messages, from what it had accepted at each look. */

export interface Point { at: number; accepted: number }
export const MOST_POINTS = 40

/** Keep what was counted at this look; a second telling of the same look changes nothing. */
export function note(seen: Map<string, Point[]>, providers: { name: string; accepted: number }[], at: number): void {
  for (const { name, accepted } of providers) {
    const points = seen.get(name) ?? []
    if (points.at(-1)?.at === at) continue
    seen.set(name, [...points, { at, accepted }].slice(-MOST_POINTS - 1))
  }
}

/** Per second, between each look and the next. A counter that began anew counts as nothing. */
export function ratesOf(points: Point[]): number[] {
  return points.slice(1).map((point, place) => {
    const before = points[place] as Point
    return Math.max(0, point.accepted - before.accepted) / Math.max(0.001, (point.at - before.at) / 1000)
  })
}
