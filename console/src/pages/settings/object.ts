/** Where an entry of the audit leads: to the page of what was changed, if it has one. */
import type { AuditView } from '@/api/schema'

const PLACES: Record<string, string> = { job: '/jobs/', run: '/runs/', dead: '/runs/', campaign: '/notifications/campaigns/', notification: '/notifications/messages/', template: '/notifications/templates/', recipient: '/notifications/recipients/' }
const OF_CONTENT: [RegExp, string][] = [[/^c_/, '/content/schedules/'], [/^cr_/, '/content/releases/']]

export function placeOf({ action, object_id: id, job_id: job }: Pick<AuditView, 'action' | 'object_id' | 'job_id'>): string | null {
  const family = action.split('.')[0] ?? ''
  if (id && action === 'content.saved') return `/content/entities/${id.split('/').map(encodeURIComponent).join('/')}`
  const place = family === 'content' ? OF_CONTENT.find(([form]) => form.test(id ?? ''))?.[1] : PLACES[family]
  if (id && place && id !== '*') return place + encodeURIComponent(id)
  return job ? `/jobs/${encodeURIComponent(job)}` : null
}
