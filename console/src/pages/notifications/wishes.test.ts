import { expect, it } from 'vitest'
import { caps, optOuts, quietHours } from './wishes'

it('wishes of a recipient are told in words', () => {
  expect(quietHours({ start: '22:00', end: '07:00' })).toEqual(['22:00 – 07:00'])
  expect(quietHours([{ start: '00:00', end: '23:59', days: ['sat', 'sun'] }])).toEqual(['00:00 – 23:59 (sat, sun)'])
  expect(quietHours(null)).toEqual([])
  expect(optOuts([{ topic: 'offers' }, { channel: 'sms' }, { topic: 'offers', channel: 'sms' }, {}])).toEqual(['offers', 'SMS', 'offers by SMS', 'anything'])
  expect(caps([{ n: 2, per: 'day' }, { n: 1, per: 'week', topic: 'offers' }])).toEqual(['2 a day', '1 a week: offers'])
})
