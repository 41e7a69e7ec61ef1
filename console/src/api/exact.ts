/**
 * JSON without loss: numbers that JavaScript cannot hold exactly stay as they were written.
 *
 * Payloads and results are other people's data. `JSON.parse` would turn 12345678901234567890 into
 * 12345678901234567000, and an edit would save that.
 */

/** A number as it stands in the text. */
export class ExactNumber {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text
  }
}

export type Json = null | boolean | number | string | ExactNumber | Json[] | { [name: string]: Json }

export class NotJson extends Error {
  constructor(
    message: string,
    readonly position: number,
  ) {
    super(message)
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const SPACE = /[ \t\n\r]*/y
const STRING = /"(?:[^"\\\u0000-\u001f]|\\.)*"/y

export function parseExact(text: string): Json {
  let at = 0
  const skip = () => {
    SPACE.lastIndex = at
    SPACE.exec(text)
    at = SPACE.lastIndex
  }
  const fail = (expected: string): never => {
    const found = at < text.length ? `“${text.slice(at, at + 12)}”` : 'the end'
    throw new NotJson(`${expected} expected at ${at + 1}, found ${found}`, at)
  }
  const string = (): string => {
    STRING.lastIndex = at
    const found = STRING.exec(text)
    if (!found) return fail('a text in double quotes')
    at = STRING.lastIndex
    try {
      return JSON.parse(found[0]) as string
    } catch {
      at = found.index
      return fail('a valid escape in the text')
    }
  }
  const value = (): Json => {
    skip()
    const first = text[at]
    if (first === '{') return object()
    if (first === '[') return array()
    if (first === '"') return string()
    for (const [word, meant] of [['true', true], ['false', false], ['null', null]] as const) {
      if (text.startsWith(word, at)) {
        at += word.length
        return meant
      }
    }
    NUMBER.lastIndex = at
    const found = NUMBER.exec(text)
    if (!found) return fail('a value')
    at = NUMBER.lastIndex
    const number = Number(found[0])
    return String(number) === found[0] ? number : new ExactNumber(found[0])
  }
  const object = (): Json => {
    const made: { [name: string]: Json } = {}
    at += 1
    skip()
    if (text[at] === '}') {
      at += 1
      return made
    }
    for (;;) {
      skip()
      const name = string()
      skip()
      if (text[at] !== ':') fail('a colon')
      at += 1
      Object.defineProperty(made, name, { value: value(), enumerable: true, writable: true, configurable: true })
      skip()
      if (text[at] === '}') {
        at += 1
        return made
      }
      if (text[at] !== ',') fail('a comma or }')
      at += 1
    }
  }
  const array = (): Json => {
    const made: Json[] = []
    at += 1
    skip()
    if (text[at] === ']') {
      at += 1
      return made
    }
    for (;;) {
      made.push(value())
      skip()
      if (text[at] === ']') {
        at += 1
        return made
      }
      if (text[at] !== ',') fail('a comma or ]')
      at += 1
    }
  }
  const made = value()
  skip()
  if (at < text.length) fail('nothing more')
  return made
}

/** `indent` 0: on one line. */
export function writeExact(value: unknown, indent = 2, depth = 0): string {
  if (value instanceof ExactNumber) return value.text
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  const items = Array.isArray(value)
    ? value.map((each) => writeExact(each, indent, depth + 1))
    : Object.entries(value)
        .filter(([, each]) => each !== undefined)
        .map(([name, each]) => `${JSON.stringify(name)}:${indent ? ' ' : ''}${writeExact(each, indent, depth + 1)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (items.length === 0) return open + close
  if (!indent) return open + items.join(',') + close
  const pad = '\n' + ' '.repeat(indent * (depth + 1))
  return open + pad + items.join(',' + pad) + '\n' + ' '.repeat(indent * depth) + close
}
