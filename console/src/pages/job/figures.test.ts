import { describe, expect, it } from 'vitest'
import { heightsOf, percentile, summaryOf } from './figures'

const run = (status: string, seconds: number | null, late: number | null = 0.01) =>
  ({ status, started_at: seconds === null ? null : '2026-11-18T12:00:00Z', finished_at: seconds === null ? null : new Date(Date.UTC(2026, 10, 18, 12, 0, 0) + seconds * 1000).toISOString(), late_seconds: late }) as never

describe('the last runs in numbers', () => {
  it('has values that exist as percentiles', () => {
    expect(percentile([3, 1, 2, 4], 0.5)).toBe(2)
    expect(percentile([3, 1, 2, 4], 0.95)).toBe(4)
    expect(percentile([], 0.5)).toBeNull()
  })

  it('counts what ended well or badly, and nothing else', () => {
    const runs = [run('success', 1), run('success', 3), run('dead', 2), run('skipped', null, null), run('running', null), run('cancelled', 9)]
    expect(summaryOf(runs)).toEqual({ runs: 3, succeeded: 2, rate: 2 / 3, p50: 2, p95: 3, late95: 0.01 })
    expect(summaryOf([]).rate).toBeNull()
  })

  it('does not count as late what lay among the dead letters', () => {
    const again = { ...(run('success', 1, 3600) as object), trigger: 'redrive' } as never
    expect(summaryOf([run('dead', 1, 0.02), again]).late95).toBe(0.02)
    expect(summaryOf([again]).late95).toBeNull()
    expect(summaryOf([{ ...(run('success', 1, 200_000) as object), trigger: 'backfill' } as never]).late95).toBeNull()
  })

  it('shows a slow run higher, and alike ones alike', () => {
    const [fast = 0, slow = 0, none = 0] = heightsOf([0.1, 60, null])
    expect([fast, slow, none]).toEqual([35, 100, 30])
    expect(heightsOf([1, 1.001])).toEqual([70, 70])
  })
})
