import { describe, expect, it } from 'vitest'
import type { CampaignCheck, TemplateView } from '@/api/schema'
import { audienceOf, EMPTY, goingFirst, idsOf, planOf, previewOf, specOf, usedChannels, valuesOf, wavesOf } from './plan'

const template = { template_id: 'spring', locales: { default: { email: {}, push: {} }, de: { email: {} } }, variables: { shop: { type: 'string' }, percent: { type: 'integer' } } } as unknown as TemplateView
const words = { template: 'no template', audience: 'no audience', time: 'no time' }

describe('the plan of a campaign', () => {
  it('asks for no preview before it says what goes to whom', () => {
    expect(previewOf({ ...EMPTY, who: 'everyone' }, undefined, 'UTC')).toBe(null)
    expect(previewOf(EMPTY, template, 'UTC')).toBe(null)
    expect(previewOf({ ...EMPTY, who: 'segment' }, template, 'UTC')).toBe(null)
  })

  it('counts those who go first as the server does: rounded up, without those left out', () => {
    const counted = (recipients: number, skipped: number, canary: number | null) => goingFirst({ recipients, skipped }, { canary })
    expect([counted(21, 0, 5), counted(10, 0, 1), counted(30, 10, 10), counted(0, 0, 10), counted(10, 0, null)]).toEqual([2, 1, 2, 0, 0])
  })

  it('has one instant on the clock that is shown, or a time on the wall of each', () => {
    const plan = { ...EMPTY, who: 'everyone' as const, time: '2027-03-14T08:00' }
    expect(previewOf({ ...plan, when: 'instant' }, template, 'Europe/Berlin')).toMatchObject({ send_at: '2027-03-14T07:00:00.000Z' })
    expect(previewOf({ ...plan, whenPast: 'skip' }, template, 'Europe/Berlin')).toMatchObject({ local_time: '2027-03-14 08:00', when_past: 'skip' })
    expect(previewOf({ ...plan, when: 'started' }, template, 'UTC')).not.toHaveProperty('local_time')
  })

  it('uses the channels that the template has, in the order in which they were chosen', () => {
    expect(usedChannels(EMPTY, template)).toEqual(['email'])
    expect(usedChannels({ ...EMPTY, channels: ['push', 'sms', 'email'] }, template)).toEqual(['push', 'email'])
  })

  it('takes shares in percent and times in hours', () => {
    const plan = { ...EMPTY, name: ' spring ', who: 'everyone' as const, canary: 1, expiresHours: 1.5, windowStart: '09:00', windowEnd: '20:00' }
    expect(specOf(plan, template, 'UTC', words, true)).toMatchObject({ name: 'spring', draft: true, canary: 0.01, expires_seconds: 5400, window: { start: '09:00', end: '20:00' }, late_seconds: 7200, prepare_seconds: 600 })
  })

  it('says which field is missing', () => {
    expect(() => specOf(EMPTY, undefined, 'UTC', words, true)).toThrow('no template')
    expect(() => specOf(EMPTY, template, 'UTC', words, true)).toThrow('no audience')
    expect(() => specOf({ ...EMPTY, who: 'everyone' }, template, 'UTC', words, false)).toThrow('no time')
    expect(() => audienceOf({ ...EMPTY, who: 'filter', filter: '{' })).toThrow()
  })

  it('takes a query from the form, and never from an address', () => {
    expect(audienceOf({ ...EMPTY, who: 'sql', sql: ' select user_id from customers ' })).toEqual({ sql: 'select user_id from customers' })
    expect(audienceOf({ ...EMPTY, who: 'sql', sql: ' ' })).toBe(null)
    expect(planOf(new URLSearchParams('who=sql&sql=select+1'))).toEqual(EMPTY)
  })

  it('gives variables the types that the template has for them', () => {
    expect(valuesOf({ ...EMPTY, values: { shop: '12', percent: '20', other: 'x' } }, template)).toMatchObject({ shop: '12', percent: 20 })
    expect(valuesOf({ ...EMPTY, values: { shop: ' ' } }, template)).toEqual({})
  })

  it('takes ids apart however they are written', () => expect(idsOf('ann, bob;kim\n lee\t')).toEqual(['ann', 'bob', 'kim', 'lee']))
})

describe('an address', () => {
  it('fills in what it names, and nothing that there is not', () => {
    expect(planOf(new URLSearchParams('template=spring&who=segment&segment=vip&local_time=2027-03-14T08:00'))).toEqual({ ...EMPTY, template: 'spring', who: 'segment', segment: 'vip', time: '2027-03-14T08:00' })
    expect(planOf(new URLSearchParams('who=nonsense'))).toEqual(EMPTY)
  })
})

describe('the waves', () => {
  const zone = (timezone: string, at: string | null) => ({ timezone, send_at_utc: at, recipients: 1, note: null })
  it('are those that go', () => {
    const check = { zones: [zone('Asia/Tokyo', '2027-01-01T00:00:00Z'), zone('UTC', '2027-01-01T09:00:00Z'), zone('Pacific/Apia', null)] } as CampaignCheck
    expect(wavesOf(check)).toMatchObject({ first: { timezone: 'Asia/Tokyo' }, last: { timezone: 'UTC' } })
    expect(wavesOf({ zones: [zone('UTC', null)] } as unknown as CampaignCheck)).toBe(null)
  })
})
