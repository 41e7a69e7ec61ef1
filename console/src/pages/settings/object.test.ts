import { expect, it } from 'vitest'
import { placeOf } from './object'

const of = (action: string, object_id: string | null, job_id: string | null = null) => placeOf({ action, object_id, job_id })

it('an entry of the audit leads to what was changed', () => {
  expect(of('job.paused', 'j_1', 'j_1')).toBe('/jobs/j_1')
  expect(of('content.moved', 'c_1', 'j_7')).toBe('/content/schedules/c_1')
  expect(of('content.saved', 'post/a b')).toBe('/content/entities/post/a%20b')
  expect(of('template.deleted', 'autumn sale')).toBe('/notifications/templates/autumn%20sale')
  expect(of('content.notices_set', 'default', 'j_9')).toBe('/jobs/j_9')
  expect(of('key.created', 'k_1')).toBeNull()
  expect(of('recipients.imported', null)).toBeNull()
})
