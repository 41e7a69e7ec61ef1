/** What holds for all files of the console. */
import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'

it('has no two modules whose names differ in case only: one disk takes them for two, another for one', () => {
  const names = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name)).map((name) => name.replace(/\.tsx?$/, '').toLowerCase())
  expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([])
})
