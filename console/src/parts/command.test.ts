import { expect, test } from 'vitest'
import { leading, quoted } from './command'

test('a command leads to the server and the namespace that the page shows', () => {
  expect(leading('sexton jobs list', 'http://127.0.0.1:7390', 'default')).toBe('sexton jobs list')
  expect(leading('sexton jobs list', 'http://localhost:7390', 'shop')).toBe('SEXTON_NAMESPACE=shop sexton jobs list')
  expect(leading('sexton jobs list', 'https://sexton.example.com', 'default')).toBe('SEXTON_URL=https://sexton.example.com sexton jobs list')
  expect(leading('sexton jobs list', 'http://127.0.0.1:7399', "it's")).toBe(`SEXTON_URL=http://127.0.0.1:7399 SEXTON_NAMESPACE='it'\\''s' sexton jobs list`)
  expect(leading('echo 1 | sexton jobs apply -', 'http://127.0.0.1:7390', 'shop')).toBe('echo 1 | SEXTON_NAMESPACE=shop sexton jobs apply -')
})

test('what a shell would read otherwise is quoted', () => {
  expect(quoted("it's")).toBe(`'it'\\''s'`)
  expect(quoted('a/b-c.d')).toBe('a/b-c.d')
})
