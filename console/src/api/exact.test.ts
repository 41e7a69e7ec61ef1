import { describe, expect, it } from 'vitest'
import { ExactNumber, NotJson, parseExact, writeExact } from './exact'

describe('JSON without loss', () => {
  it('keeps numbers that JavaScript cannot hold', () => {
    for (const text of ['12345678901234567890', '0.1000', '1e400', '-0.30000000000000004440', '[1,9007199254740993]']) {
      expect(writeExact(parseExact(text), 0)).toBe(text)
    }
    expect(parseExact('12345678901234567890')).toBeInstanceOf(ExactNumber)
    expect(parseExact('42')).toBe(42)
  })

  it('reads what JSON.parse reads', () => {
    for (const text of ['{"a": [1, true, null, "x\\n\\u00e9"], "b": {}}', '[]', '"\\"quoted\\""', ' -1.5 ', 'false']) {
      expect(parseExact(text)).toEqual(JSON.parse(text))
    }
  })

  it('says where a text is not JSON', () => {
    for (const [text, position] of [['{"a" 1}', 5], ['[1,]', 3], ['', 0], ['01', 1], ['{"a":1} x', 8], ["{'a':1}", 1]] as const) {
      try {
        parseExact(text)
        expect.unreachable(text)
      } catch (error) {
        expect(error, text).toBeInstanceOf(NotJson)
        expect((error as NotJson).position, text).toBe(position)
      }
    }
  })

  it('does not let a payload change the prototype', () => {
    const made = parseExact('{"__proto__": {"admin": true}}') as Record<string, unknown>
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype)
    expect((made as { admin?: boolean }).admin).toBeUndefined()
  })

  it('writes with indents', () => {
    expect(writeExact({ a: [1], b: {}, c: undefined })).toBe('{\n  "a": [\n    1\n  ],\n  "b": {}\n}')
  })
})
