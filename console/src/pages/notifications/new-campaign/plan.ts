/** What is typed into the form of a campaign, and what the API gets of it. Pure, so that it can be tested without a page. */
import type { AudienceSpec, CampaignCheck, CampaignSpec, CampaignZone, OnDoubt, TemplateView, WhenPast } from '@/api/schema'
import { instantOf } from '@/parts/calendar/days'
import { FieldError, parsedAt } from '@/parts/field'

export interface Plan {
  name: string
  description: string
  template: string
  channels: string[]
  /** The values of variables for all recipients, as they are typed. */
  values: Record<string, string>
  who: keyof AudienceSpec | null
  segment: string
  list: string
  filter: string
  userIds: string
  sql: string
  when: 'started' | 'instant' | 'local'
  /** On a wall clock, as the browser's field has it: “2027-03-14T08:00”. */
  time: string
  whenPast: WhenPast
  timezone: string | null
  rate: number | null
  /** In percent. */
  canary: number | null
  windowStart: string
  windowEnd: string
  topic: string
  urgency: string | null
  expiresHours: number | null
  onDoubt: OnDoubt | null
  lateHours: number
  prepareMinutes: number
  retries: number
  retryMinutes: number
}

export const EMPTY: Plan = {
  name: '', description: '', template: '', channels: [], values: {}, who: null, segment: '', list: '', filter: '{"field": "country", "in": ["DE", "AT"]}', userIds: '', sql: '', when: 'local', time: '', whenPast: 'send_now',
  timezone: null, rate: null, canary: null, windowStart: '', windowEnd: '', topic: '', urgency: null, expiresHours: null, onDoubt: null, lateHours: 2, prepareMinutes: 10, retries: 3, retryMinutes: 5,
}

// Not `sql`: a link must not bring a query that is run by who follows it.
const AUDIENCES = ['everyone', 'segment', 'filter', 'list', 'user_ids'] as const

/** What an address says already: a template, to whom, and the local time. */
export function planOf(search: URLSearchParams): Plan {
  const who = AUDIENCES.find((each) => each === search.get('who')) ?? null
  return { ...EMPTY, template: search.get('template') ?? '', who, segment: search.get('segment') ?? '', time: search.get('local_time') ?? '' }
}

/** The channels that a template has texts for. */
export function channelsOf(template: TemplateView | undefined): string[] {
  return [...new Set(Object.values(template?.locales ?? {}).flatMap((texts) => Object.keys(texts as object)))]
}

/** The channels that were chosen, as far as the template has them; else its first. */
export function usedChannels(plan: Plan, template: TemplateView | undefined): string[] {
  const written = channelsOf(template)
  const chosen = plan.channels.filter((each) => written.includes(each))
  return chosen.length ? chosen : written.slice(0, 1)
}

/** Ids of recipients, however they are kept apart. */
export function idsOf(text: string): string[] {
  return text.split(/[\s,;]+/).filter(Boolean)
}

/** To whom; null while that is not said. Raises `FieldError` for a filter that is not JSON. */
export function audienceOf(plan: Plan): AudienceSpec | null {
  if (plan.who === 'everyone') return { everyone: true }
  if (plan.who === 'segment') return plan.segment ? { segment: plan.segment } : null
  if (plan.who === 'list') return plan.list ? { list: plan.list } : null
  if (plan.who === 'filter') return plan.filter.trim() ? { filter: parsedAt('audience', plan.filter) as Record<string, unknown> } : null
  if (plan.who === 'sql') return plan.sql.trim() ? { sql: plan.sql.trim() } : null
  if (plan.who === 'user_ids') return idsOf(plan.userIds).length ? { user_ids: idsOf(plan.userIds) } : null
  return null
}

/** What decides who gets it, and when; null while something is missing. `zone` is that of the clock on which an instant is typed. */
export function previewOf(plan: Plan, template: TemplateView | undefined, zone: string): CampaignSpec | null {
  const audience = audienceOf(plan)
  const channels = usedChannels(plan, template)
  if (!template || !audience || channels.length === 0) return null
  return {
    // Of a preview it is of no matter.
    name: plan.name.trim() || template.template_id,
    template_id: template.template_id,
    template_vars: valuesOf(plan, template),
    audience,
    channel: channels,
    topic: plan.topic.trim() || null,
    timezone: plan.timezone,
    ...(plan.when === 'instant' && plan.time ? { send_at: instantOf(plan.time, zone) } : {}),
    ...(plan.when === 'local' && plan.time ? { local_time: plan.time.replace('T', ' '), when_past: plan.whenPast } : {}),
  }
}

/** How many of the recipients go first; the server rounds up, too. */
export function goingFirst(check: Pick<CampaignCheck, 'recipients' | 'skipped'>, plan: Pick<Plan, 'canary'>): number {
  return plan.canary === null ? 0 : Math.ceil((check.recipients - check.skipped) * (plan.canary / 100))
}

/** All of it. Raises `FieldError` for what is missing; the rest the server checks. */
export function specOf(plan: Plan, template: TemplateView | undefined, zone: string, words: { template: string; audience: string; time: string }, draft: boolean): CampaignSpec {
  if (!template) throw new FieldError('template_id', words.template)
  const asked = previewOf(plan, template, zone)
  if (!asked) throw new FieldError('audience', words.audience)
  if (!draft && !plan.time) throw new FieldError('time', words.time)
  return {
    ...asked,
    name: plan.name.trim(),
    description: plan.description.trim() || null,
    draft,
    rate: plan.rate,
    canary: plan.canary === null ? null : plan.canary / 100,
    window: plan.windowStart || plan.windowEnd ? { start: plan.windowStart, end: plan.windowEnd } : null,
    urgency: plan.urgency,
    expires_seconds: plan.expiresHours === null ? null : Math.round(plan.expiresHours * 3600),
    on_doubt: plan.onDoubt,
    late_seconds: Math.round(plan.lateHours * 3600),
    prepare_seconds: Math.round(plan.prepareMinutes * 60),
    max_retries: plan.retries,
    retry_seconds: Math.round(plan.retryMinutes * 60),
  }
}

/** Numbers and truths as such, where the template says that a variable is one; what is left empty is not sent. */
export function valuesOf(plan: Plan, template: TemplateView): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  for (const [name, spec] of Object.entries(template.variables)) {
    const text = plan.values[name]?.trim()
    if (!text) continue
    const type = (spec as { type?: string }).type ?? 'any'
    found[name] = ['number', 'integer', 'boolean', 'list', 'object'].includes(type) ? parsedAt('template_vars', text) : text
  }
  return found
}

/** The first and the last zone whose recipients get something. */
export function wavesOf(check: CampaignCheck): { first: CampaignZone; last: CampaignZone } | null {
  const timed = check.zones.filter((zone) => zone.send_at_utc !== null)
  const [first, last] = [timed[0], timed.at(-1)]
  return first && last ? { first, last } : null
}
