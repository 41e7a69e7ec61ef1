/** Addresses that are told of what happens: which targets can be written as an address, and what a test says. */
import type { NoticeEvent } from '@/api/schema'

export const EVENTS: NoticeEvent[] = ['done', 'failed', 'missed', 'will_fail']
/** What is told of, in words. */
export const EVENT_NAMES: Record<NoticeEvent, string> = { done: 'carried out', failed: 'failed', missed: 'missed its time', will_fail: 'will fail as things are' }

export interface Address {
  url: string
  /** The name of the secret that signs; null: that of the installation. */
  secret: string | null
}

/** A target that is an address and perhaps a secret; null: it has more than that, or is no HTTP request. */
export function addressOf(target: Record<string, unknown> | null): Address | null {
  const http = target?.['http']
  if (!http || typeof http !== 'object' || Object.keys(target).length !== 1) return null
  const { url, sign_with: secret, ...others } = http as Record<string, unknown>
  if (typeof url !== 'string' || Object.keys(others).length > 0 || (secret !== undefined && secret !== null && typeof secret !== 'string')) return null
  return { url, secret: secret ?? null }
}

export function targetOf({ url, secret }: Address): Record<string, unknown> {
  return { http: { url, ...(secret ? { sign_with: secret } : {}) } }
}

/** A dead letter as it would be sent, with nothing of a real run in it. */
export function sampleLetter(now: Date): Record<string, unknown> {
  return { run_id: 'r_test', job_id: 'j_test', job_name: 'test', died_at: now.toISOString(), reason: 'exhausted', error: 'a test from the console', error_group: 'test', scheduled_at: now.toISOString(), trigger: 'manual', missed: false, attempt: 1, payload: null }
}

/** A notice as it would be sent, of a type that no event has. */
export function sampleNotice(now: Date): Record<string, unknown> {
  return { type: 'content.test', timestamp: now.toISOString(), data: { content_id: 'test/1', action: 'publish' } }
}
