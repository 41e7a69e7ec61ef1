import { describe, expect, it } from 'vitest'
import { ExactNumber } from '@/api/exact'
import type { JobView } from '@/api/schema'
import { asCommand, asCurl, asPython, asYaml, definitionOf } from './texts'
import { differences } from './differences'

const USUAL = 'http://127.0.0.1:7390'
const JOB = {
  job_id: 'j_1', status: 'active', revision: 2, created_at: '', updated_at: '', name: "it's/weekly", schedule: '0 9 * * 1', timezone: 'Europe/Berlin', target: { handler: 'report' },
  payload: { n: new ExactNumber('12345678901234567890'), on: true, none: null }, queue: 'default', priority: 2, max_retries: 5, labels: { team: 'billing' }, exclude: ['2026-12-25'], overlap: 'ALLOW',
} as unknown as JobView

const GIVEN = definitionOf(JOB)

describe('a job as others write it', () => {
  it('has what was chosen, and no defaults', () => {
    expect(Object.keys(definitionOf(JOB))).toEqual(['name', 'schedule', 'timezone', 'target', 'payload', 'max_retries', 'labels', 'exclude'])
  })

  it('is safe in a shell', () => {
    expect(asCommand(GIVEN, USUAL)).toContain(`sexton jobs add 'it'\\''s/weekly'`)
    expect(asCommand(GIVEN, USUAL)).toContain('--handler report')
    expect(asCommand(GIVEN, USUAL)).toContain('--label team=billing')
    expect(asCommand(GIVEN, USUAL)).toContain(`--payload '{"n":12345678901234567890,"on":true,"none":null}'`)
    expect(asCommand({ ...GIVEN, payload: '123' }, USUAL)).toContain(`--payload '"123"'`)
    expect(asCurl(GIVEN, 'http://here')).toContain('http://here/api/v1/jobs')
    expect(asCurl(GIVEN, 'http://here')).not.toContain('Sexton-Namespace')
  })

  it('names its namespace, if that is not the default one', () => {
    expect(asCurl(GIVEN, 'http://here', 'shop')).toContain(`-H 'Sexton-Namespace: shop'`)
    expect(asCommand(GIVEN, USUAL, 'shop')).toMatch(/^SEXTON_NAMESPACE=shop sexton jobs add /)
    expect(asCommand(GIVEN, USUAL)).toMatch(/^sexton jobs add /)
  })

  it('is Python and YAML', () => {
    expect(asPython(GIVEN)).toContain('payload={"n": 12345678901234567890, "on": True, "none": None},')
    expect(asYaml(GIVEN)).toContain('schedule: "0 9 * * 1"')
    expect(asYaml(GIVEN)).toContain('payload:\n  "n": 12345678901234567890\n  "on": true')
    expect(asYaml(GIVEN)).toContain('exclude:\n  - "2026-12-25"')
  })
})

describe('a change', () => {
  it('is the fields that differ; none and null are the same', () => {
    expect(differences({ a: 1, b: [1], c: 'x' }, { a: 1, b: [2], d: null })).toEqual([['b', [1], [2]], ['c', 'x', undefined]])
    expect(differences(null, 'x')).toEqual([])
  })
})
