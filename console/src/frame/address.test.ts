import { describe, expect, it } from 'vitest'
import { inNamespace, listIn, namespaceIn } from './address'

describe('the namespace in the address', () => {
  it('is read, also where it is not encoded as it must be', () => {
    expect(namespaceIn('/jobs')).toBeNull()
    expect(namespaceIn('/namespaces/a%20b/jobs')).toBe('a b')
    expect(namespaceIn('/namespaces/%E0%A4%A/jobs')).toBe('%E0%A4%A')
  })

  it('never leads to another host', () => {
    expect(inNamespace('//evil.example/x', 'default')).toBe('/evil.example/x')
    expect(inNamespace('/namespaces/shop//evil.example', 'default')).toBe('/evil.example')
    expect(inNamespace('/namespaces/shop', 'billing')).toBe('/namespaces/billing')
    expect(inNamespace('/jobs/j_1', 'a b')).toBe('/namespaces/a%20b/jobs/j_1')
    expect(listIn('//evil.example/x', 'default')).toBe('/evil.example')
  })
})
