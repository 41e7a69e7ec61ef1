import { describe, expect, it } from 'vitest'
import { ExactNumber } from '@/api/exact'
import type { RunDetail } from '@/api/schema'
import { momentsOf, offsetText, placesOf, spansOf } from './spans'

const at = (second: number) => new Date(Date.UTC(2026, 10, 18, 12, 0, 0) + second * 1000).toISOString()
const RUN = {
  scheduled_at: at(0),
  status: 'success',
  waits: [
    { from: 'nominal', to: 'due', at: at(0), seconds: new ExactNumber('0.0') as unknown as number, cause: null },
    { from: 'due', to: 'fired', at: at(0.012), seconds: 0.012, cause: null },
    { from: 'fired', to: 'started', at: at(4.212), seconds: 4.2, cause: 'no worker had a free slot' },
    { from: 'started', to: 'failed', at: at(5.212), seconds: 1, cause: null },
    { from: 'failed', to: 'started', at: at(10.212), seconds: 5, cause: 'the pause before the next attempt' },
    { from: 'started', to: 'finished', at: at(11.212), seconds: 1, cause: null },
  ],
} as Pick<RunDetail, 'scheduled_at' | 'status' | 'waits'>

describe('the timeline of a run', () => {
  it('has a moment for each step, and none twice', () => {
    expect(momentsOf(RUN).map((each) => each.name)).toEqual(['nominal', 'fired', 'started', 'failed', 'started', 'finished'])
    expect(momentsOf(RUN).map((each) => offsetText(each.offset))).toEqual(['+0 ms', '+12 ms', '+4.212 s', '+5.212 s', '+10.212 s', '+11.212 s'])
  })

  it('tells the end of a dead run once', () => {
    const dead = { scheduled_at: at(0), waits: [{ from: 'started', to: 'failed', at: at(2), seconds: 1, cause: null }, { from: 'failed', to: 'finished', at: at(2), seconds: 0, cause: null }] } as typeof RUN
    expect(momentsOf(dead).map((each) => each.name)).toEqual(['nominal', 'finished'])
  })

  it('tells waiting from working, and whose try it was', () => {
    expect(spansOf(RUN).map((each) => [each.kind, each.attempt])).toEqual([['waiting', null], ['waiting', null], ['failed', 1], ['waiting', 1], ['running', 2]])
    expect(spansOf({ ...RUN, status: 'dead' }).at(-1)?.kind).toBe('failed')
  })

  it('takes what was put off for the same try', () => {
    const waits = [{ from: 'fired', to: 'started', at: at(1), seconds: 1, cause: null }, { from: 'started', to: 'snoozed', at: at(2), seconds: 1, cause: null }, { from: 'snoozed', to: 'started', at: at(7), seconds: 5, cause: null }, { from: 'started', to: 'finished', at: at(8), seconds: 1, cause: null }]
    expect(spansOf({ ...RUN, waits } as typeof RUN).map((each) => each.attempt)).toEqual([null, 1, 1, 1])
  })

  it('tells a try that was cancelled from one that failed', () => {
    const waits = [{ from: 'started', to: 'finished', at: '2027-01-01T00:00:01Z', seconds: 1, cause: null }]
    const kind = (status: string) => spansOf({ ...RUN, waits, status } as unknown as typeof RUN)[0]?.kind
    expect([kind('cancelled'), kind('dead'), kind('success')]).toEqual(['stopped', 'failed', 'running'])
  })

  it('is to scale, and what is short can still be seen', () => {
    const places = placesOf(spansOf(RUN))
    expect(places[0]?.width).toBe(0.6)
    expect(places[1]?.width).toBeCloseTo((4.2 / 11.212) * 100)
    expect(Math.max(...places.map((each) => each.left + each.width))).toBeLessThanOrEqual(100.000001)
  })

  it('writes an offset exactly', () => {
    expect([0, 0.0124, 3.5, 65.25, 3725].map(offsetText)).toEqual(['+0 ms', '+12 ms', '+3.500 s', '+1:05.3', '+1:02:05'])
    expect(offsetText(-2)).toBe('−2.000 s')
  })
})
