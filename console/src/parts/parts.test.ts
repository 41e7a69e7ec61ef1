import { describe, expect, it } from 'vitest'
import { ExactNumber } from '@/api/exact'
import { inNamespace, listIn, namespaceIn } from '@/frame/address'
import { allows, startingNamespace } from '@/frame/session'
import { pathOf } from '@/frame/Search'
import { linkOf } from '@/pages/overview'
import { labelsOf } from '@/pages/jobs/bulk'
import { counted } from './DataTable'
import { toldBy } from './error'
import { MASK, masked, unmasked } from './Json'
import { zonesFor } from './zones'

describe('what is shown', () => {
  it('hides what sounds like a secret', () => {
    expect(masked({ password: 'a', nested: [{ api_key: 'b', n: new ExactNumber('1') }], token: '${secret:x}', plain: 'c', empty: { secret: null } })).toEqual({
      password: MASK, nested: [{ api_key: MASK, n: new ExactNumber('1') }], token: '${secret:x}', plain: 'c', empty: { secret: null },
    })
    expect(masked({ token: new ExactNumber('12345678901234567890'), n: new ExactNumber('12345678901234567890') })).toEqual({ token: MASK, n: new ExactNumber('12345678901234567890') })
  })

  it('hides all that is inside of a secret', () => {
    expect(masked({ credentials: { user: 'a', more: ['b', 7] }, after: 'c' })).toEqual({ credentials: { user: MASK, more: [MASK, MASK] }, after: 'c' })
  })

  it('puts back what the mask stands for, and refuses one that stands for nothing', () => {
    const original = { password: 'old', list: [{ token: new ExactNumber('9007199254740993') }], plain: 1 }
    expect(unmasked('payload', { ...(masked(original) as object), plain: 2 }, original)).toEqual({ ...original, plain: 2 })
    expect(unmasked('payload', { password: 'new' }, original)).toEqual({ password: 'new' })
    expect(() => unmasked('payload', { other: MASK }, original)).toThrowError(expect.objectContaining({ field: 'payload' }))
  })

  it('says how many of how many', () => {
    expect(counted(100, 4312, false, true)).toBe('100 of 4,312')
    expect(counted(100, 1_204_311, true, true)).toBe('100 of about 1,200,000')
    expect(counted(100, 10_001, true, true)).toBe('100 of about 10,000')
    expect(counted(7, 7, false, false)).toBe('7')
    expect(counted(100, null, false, true)).toBe('100+')
  })

  it('tells an error by its message, wherever the traceback stands', () => {
    expect(toldBy('ValueError: no\n\n  File "a.py", line 1\n    raise')).toEqual({ title: 'ValueError: no', trace: '  File "a.py", line 1\n    raise' })
    expect(toldBy('Traceback (most recent call last):\n  File "a.py"\nValueError: no\n')).toEqual({ title: 'ValueError: no', trace: 'Traceback (most recent call last):\n  File "a.py"\nValueError: no' })
    expect(toldBy('HTTP 500')).toEqual({ title: 'HTTP 500', trace: null })
  })

  it('finds a zone by a city that has none of its own', () => {
    expect(zonesFor('munich')[0]).toEqual({ zone: 'Europe/Berlin', city: 'Munich' })
    expect(zonesFor('san fr')[0]).toEqual({ zone: 'America/Los_Angeles', city: 'San Francisco' })
    expect(zonesFor('zürich')[0]?.zone).toBe('Europe/Zurich')
    expect(zonesFor('new york')[0]?.zone).toBe('America/New_York')
    expect(zonesFor('nowhere at all')).toEqual([])
  })

  it('leads to what was found', () => {
    expect(pathOf({ kind: 'job', id: 'j_1', title: '' })).toBe('/jobs/j_1')
    expect(pathOf({ kind: 'entity', id: 'post/a b', title: '' })).toBe('/content/entities/post/a%20b')
    expect(linkOf({ code: 'x', severity: 'error', text: '', count: 1, link_kind: 'jobs', link: { problem: 'true' } })).toBe('/jobs?problem=true')
    expect(linkOf({ code: 'x', severity: 'info', text: '', count: 0, link_kind: 'cluster', link: {} })).toBe('/cluster')
  })

  it('reads labels', () => {
    expect(labelsOf('team=a=b')).toEqual({ team: 'a=b' })
    expect(labelsOf('-team')).toEqual({ team: null })
  })
})

describe('a session', () => {
  it('starts in the namespace that was chosen, if it is still there', () => {
    const caller = (roles: Record<string, string>) => ({ name: 'a', method: 'link', roles }) as never
    expect(startingNamespace(caller({ billing: 'viewer', shop: 'editor' }), 'shop')).toBe('shop')
    expect(startingNamespace(caller({ billing: 'viewer' }), 'shop')).toBe('billing')
    expect(startingNamespace(caller({ '*': 'admin' }), 'shop')).toBe('shop')
    expect(startingNamespace(caller({ '*': 'admin' }), null)).toBe('default')
  })

  it('has its namespace in the address', () => {
    expect(namespaceIn('/jobs/j_1')).toBeNull()
    expect(namespaceIn('/namespaces/a%20b/jobs')).toBe('a b')
    expect(inNamespace('/jobs/j_1', 'a b')).toBe('/namespaces/a%20b/jobs/j_1')
    expect(inNamespace('/namespaces/shop/jobs', 'billing')).toBe('/namespaces/billing/jobs')
    expect(inNamespace('/namespaces/shop', 'default')).toBe('/')
    expect(inNamespace('/', 'shop')).toBe('/namespaces/shop')
  })

  it('goes to the list when the namespace is switched', () => {
    expect(listIn('/jobs/j_1/edit', 'shop')).toBe('/namespaces/shop/jobs')
    expect(listIn('/namespaces/shop/runs', 'default')).toBe('/runs')
    expect(listIn('/namespaces/shop', 'billing')).toBe('/namespaces/billing')
  })

  it('may do what its role allows', () => {
    expect(allows('editor', 'operator')).toBe(true)
    expect(allows('worker', 'operator')).toBe(false)
    expect(allows(undefined, 'viewer')).toBe(false)
  })
})
