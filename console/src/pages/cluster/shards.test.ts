import { describe, expect, it } from 'vitest'
import { commandIn, leadersOf, letterOf, ranges } from './shards'

const shard = (number: number, leader: string | null, jobs = 1) => ({ shard: number, leader, jobs, epoch: 1 }) as never

describe('leaders', () => {
  it('have a letter and their shards, in the order of their names', () => {
    const { leaders, without } = leadersOf([shard(0, 'b'), shard(1, 'a', 5), shard(2, null), shard(3, 'b')])
    expect(leaders.map((each) => [each.letter, each.name, each.shards.length, each.jobs])).toEqual([['A', 'a', 1, 5], ['B', 'b', 2, 2]])
    expect(without).toHaveLength(1)
  })
  it('have letters beyond Z', () => expect([0, 25, 26, 51, 52].map(letterOf)).toEqual(['A', 'Z', 'AA', 'AZ', 'BA']))
})

describe('ranges', () => {
  it('put neighbours together', () => expect(ranges([3, 1, 2, 7, 9, 8, 12])).toBe('1–3, 7–9, 12'))
})

describe('the command in a fix', () => {
  it('is found', () => {
    expect(commandIn('see: sexton dead list --groups')).toBe('sexton dead list --groups')
    expect(commandIn('start one (sexton up --roles worker) or wait')).toBe('sexton up --roles worker')
    expect(commandIn('run `sexton migrate` on one node')).toBe('sexton migrate')
    expect(commandIn('set the clock of that machine')).toBeNull()
  })
})
