/** What the builders write: texts that the server understands. Pure, so that they can be tested. */
export type Frequency = 'MINUTELY' | 'HOURLY' | 'DAILY' | 'WEEKLY' | 'MONTHLY' | 'YEARLY'
export const DAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const

export interface Recurrence {
  frequency: Frequency
  interval: number
  days: string[]
  monthDay: number | null
  time: string
  count: number | null
}

export function recurrenceText(rule: Recurrence): string {
  const parts = [`FREQ=${rule.frequency}`]
  if (rule.interval > 1) parts.push(`INTERVAL=${rule.interval}`)
  if (rule.frequency === 'WEEKLY' && rule.days.length) parts.push(`BYDAY=${DAYS.filter((day) => rule.days.includes(day)).join(',')}`)
  if (rule.frequency === 'MONTHLY' && rule.monthDay) parts.push(`BYMONTHDAY=${rule.monthDay}`)
  if (!['MINUTELY', 'HOURLY'].includes(rule.frequency)) {
    const [hour = '0', minute = '0'] = rule.time.split(':')
    parts.push(`BYHOUR=${Number(hour)}`, `BYMINUTE=${Number(minute)}`, 'BYSECOND=0')
  }
  if (rule.count) parts.push(`COUNT=${rule.count}`)
  return `RRULE:${parts.join(';')}`
}

/** “every 1h30m” from 90 minutes. */
export function intervalText(amount: number, unit: 's' | 'm' | 'h' | 'd'): string {
  return `every ${amount}${unit}`
}

/** Which builder a text belongs to. */
export function kindOf(schedule: string): 'text' | 'interval' | 'once' | 'recurrence' {
  const text = schedule.trim()
  if (/^(RRULE|FREQ=|DTSTART)/i.test(text)) return 'recurrence'
  if (/^every \d+[smhd]$/.test(text)) return 'interval'
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text)) return 'once'
  return 'text'
}
