import { describe, expect, it } from 'vitest'
import { changesOf } from './changes'

describe('changes', () => {
  it('are told by path, without what stayed', () => {
    const found = changesOf({ name: 'a', target: { http: { url: 'x', method: 'GET' } }, labels: ['b'] }, { name: 'a', target: { http: { url: 'y', method: 'GET' } }, labels: ['b', 'c'] })
    expect(found).toEqual([['target.http.url', 'x', 'y'], ['labels', '["b"]', '["b","c"]']])
  })
  it('have no before of what is new, and no after of what is gone', () => {
    expect(changesOf(null, { status: 'active' })).toEqual([['status', null, 'active']])
    expect(changesOf({ status: 'active' }, null)).toEqual([['status', 'active', null]])
    expect(changesOf(null, null)).toEqual([])
  })
})
