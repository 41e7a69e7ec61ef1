/** What a recipient wants, in words. */
import { number, t } from '@/i18n'
import { channelName } from '@/parts/channel'

/** “22:00 – 07:00”, and on which days if not on all. */
export function quietHours(given: unknown): string[] {
  return [given ?? []].flat().map((each) => {
    const { start, end, days } = each as { start: string; end: string; days?: string[] | null }
    return `${start} – ${end}${days?.length ? ` (${days.map((day) => t(day)).join(', ')})` : ''}`
  })
}

/** “offers”, “SMS”, “offers by SMS”; without either, everything. */
export function optOuts(given: unknown[]): string[] {
  return given.map((each) => about(each as { channel?: string | null; topic?: string | null }) || t('anything'))
}

/** “2 a day”, “1 a week: offers by SMS”. */
export function caps(given: unknown[]): string[] {
  return given.map((each) => {
    const { n, per } = each as { n: number; per: 'day' | 'week' }
    const often = per === 'week' ? t('{count} a week', { count: number(n) }) : t('{count} a day', { count: number(n) })
    return [often, about(each as object)].filter(Boolean).join(': ')
  })
}

function about({ channel, topic }: { channel?: string | null; topic?: string | null }): string {
  if (channel && topic) return t('{topic} by {channel}', { topic, channel: channelName(channel) })
  return topic ?? (channel ? channelName(channel) : '')
}
