import { describe, expect, it } from 'vitest'
import type { JobView } from '@/api/schema'
import { changesOf, draftOf, specOf } from './draft'
import { backoffText } from './Policies'
import { othersIn } from './Preview'
import { begin, FIRST_RULE, intervalText, kindOf, recurrenceOf, recurrenceText } from './schedule'

describe('the builders', () => {
  it('write what the server reads', () => {
    const rule = { ...FIRST_RULE, time: '00:00' }
    expect(recurrenceText({ ...rule, interval: 2, days: ['FR', 'MO'], time: '09:30', count: 5 })).toBe('RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;BYHOUR=9;BYMINUTE=30;BYSECOND=0;COUNT=5')
    expect(recurrenceText({ ...rule, frequency: 'MONTHLY', monthDay: -1 })).toBe('RRULE:FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=0;BYMINUTE=0;BYSECOND=0')
    expect(recurrenceText({ ...rule, frequency: 'MONTHLY', weekday: { place: -1, day: 'FR' }, until: '2027-12-31' })).toBe('RRULE:FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=0;BYMINUTE=0;BYSECOND=0;UNTIL=20271231')
    expect(recurrenceText({ ...rule, frequency: 'YEARLY', month: 3, monthDay: 31 })).toBe('RRULE:FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=31;BYHOUR=0;BYMINUTE=0;BYSECOND=0')
    expect(intervalText(15, 'm')).toBe('every 15m')
    expect(['0 9 * * 1', 'every 15m', '2027-01-01T09:00', 'FREQ=DAILY'].map(kindOf)).toEqual(['text', 'interval', 'once', 'recurrence'])
  })
})

describe('a builder that is chosen', () => {
  it('reads what it would have written, and no more', () => {
    const plain = { ...FIRST_RULE, days: [], monthDay: null, month: null, time: '00:00' }
    expect(recurrenceOf(recurrenceText(FIRST_RULE))).toEqual({ ...FIRST_RULE, monthDay: null, month: null })
    expect(recurrenceOf('FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=6;BYMINUTE=5')).toEqual({ ...plain, frequency: 'MONTHLY', monthDay: -1, time: '06:05' })
    expect(recurrenceOf('FREQ=MONTHLY;BYDAY=-1FR;UNTIL=20271231')).toEqual({ ...plain, frequency: 'MONTHLY', weekday: { place: -1, day: 'FR' }, until: '2027-12-31' })
    expect(recurrenceOf('FREQ=YEARLY;BYMONTH=3;BYDAY=2SU')).toEqual({ ...plain, frequency: 'YEARLY', month: 3, weekday: { place: 2, day: 'SU' } })
  })

  it.each([
    'FREQ=MONTHLY;BYDAY=-1FR,1MO', 'FREQ=MONTHLY;BYMONTHDAY=1,15', 'FREQ=MONTHLY;BYDAY=1MO;BYMONTHDAY=1', 'FREQ=MONTHLY;BYMONTH=3', 'FREQ=YEARLY;BYDAY=20MO',
    'FREQ=YEARLY;BYMONTHDAY=1', 'FREQ=DAILY;UNTIL=20270101T120000Z', 'FREQ=DAILY;BYMONTHDAY=1', 'FREQ=WEEKLY;BYDAY=1MO', 'FREQ=HOURLY;BYHOUR=9;BYMINUTE=0', 'FREQ=SECONDLY',
  ])('leaves %s as it is', (rule) => {
    expect(recurrenceOf(rule)).toBeNull()
  })

  it('is not for what is no rule', () => {
    expect(recurrenceOf('0 9 * * *')).toBeNull()
  })

  it('begins with something that fires, and keeps what it can read', () => {
    expect(begin('interval', '0 9 * * *', '2027-01-01')).toBe('every 15m')
    expect(begin('interval', 'every 3h', '2027-01-01')).toBe('every 3h')
    expect(begin('once', '', '2027-01-01')).toBe('2027-01-01T09:00')
    expect(begin('recurrence', '', '')).toBe(recurrenceText(FIRST_RULE))
    expect(begin('text', 'every 3h', '')).toBe('every 3h')
  })
})

describe('the jobs of the same minute', () => {
  it('are others than the job that is edited', () => {
    const data = { shares_minute: 3, occurrences: [{ scheduled_at: '2027-03-28T01:30:00Z', local: '', note: null, skipped: 'dst_gap' }, { scheduled_at: '2027-03-29T00:30:00Z', local: '', note: null, skipped: null }] } as Parameters<typeof othersIn>[0]
    expect([null, '2027-03-29T00:30:20Z', '2027-03-30T00:30:00Z'].map((own) => othersIn(data, own))).toEqual([3, 2, 3])
    expect(othersIn({ ...data, shares_minute: null }, '2027-03-29T00:30:20Z')).toBeNull()
  })
})

describe('the form', () => {
  const job = { job_id: 'j_1', name: 'a', schedule: '@daily', timezone: 'UTC', target: { http: { url: 'https://example.com', method: 'PUT' } }, payload: [1], labels: { a: 'b=c' }, max_retries: 0 } as unknown as JobView

  it('gives back the job that it was given', () => {
    const spec = specOf(draftOf(job))
    expect(spec).toMatchObject({ name: 'a', schedule: '@daily', target: job.target, payload: [1], labels: { a: 'b=c' }, max_retries: 0 })
  })

  it('sends only what was changed', () => {
    const before = specOf(draftOf(job))
    expect(changesOf({ ...before, priority: 0 }, before)).toEqual({ priority: 0 })
  })

  it('gives a clone also what it has no field for, and dates on the clock of the job', () => {
    const more = { ...job, timezone: 'America/New_York', starts_at: '2027-01-01T14:30:00Z', exclude: ['2027-12-25'], retry_jitter: 'full', concurrency_key: '{{payload.id}}', kind: 'cron', anchor: '2027-01-01T00:00:00Z' } as unknown as JobView
    expect(draftOf(more).starts).toBe('2027-01-01T09:30')
    const spec = specOf(draftOf(more))
    expect(spec).toMatchObject({ starts_at: '2027-01-01T14:30:00.000Z', ends_at: null, exclude: ['2027-12-25'], retry_jitter: 'full', concurrency_key: '{{payload.id}}', owner: null })
    expect('kind' in spec || 'anchor' in spec).toBe(false)
  })

  it('keeps a secret that it does not show', () => {
    const hidden = { ...job, payload: { password: 'old', n: 1 } } as unknown as JobView
    const draft = draftOf(hidden)
    expect(draft.payload).not.toContain('old')
    expect(specOf({ ...draft, payload: draft.payload.replace('1', '2') })['payload']).toEqual({ password: 'old', n: 2 })
  })

  it('says how long the waits between tries are', () => {
    const given = { retry_base_seconds: 60, retry_max_seconds: 200, max_retries: 5 }
    expect(backoffText({ ...given, retry_backoff: 'exponential' })).toBe('1 min, 2 min, 3 min 20 s …')
    expect(backoffText({ ...given, retry_backoff: 'linear', max_retries: 2 })).toBe('1 min, 2 min')
    expect(backoffText({ ...given, retry_backoff: 'fixed', max_retries: 0 })).toBe('It is tried once.')
  })

  it('says at which field JSON is wrong', () => {
    expect(() => specOf({ ...draftOf(job), payload: '{"a":' })).toThrowError(expect.objectContaining({ field: 'payload' }))
  })
})
