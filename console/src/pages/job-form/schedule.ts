/** What the builders write: texts that the server understands. Pure, so that they can be tested. */
const FREQUENCIES = ['MINUTELY', 'HOURLY', 'DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'] as const
export type Frequency = (typeof FREQUENCIES)[number]
export const DAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const

export interface Recurrence {
  frequency: Frequency
  interval: number
  days: string[]
  monthDay: number | null
  /** Of a month, instead of the day: the first, the last (-1) … of this day of the week. */
  weekday: { place: number; day: string } | null
  /** Of a year. */
  month: number | null
  time: string
  count: number | null
  /** The last day, “2027-12-31”. */
  until: string | null
}

export function recurrenceText(rule: Recurrence): string {
  const parts = [`FREQ=${rule.frequency}`]
  if (rule.interval > 1) parts.push(`INTERVAL=${rule.interval}`)
  if (rule.frequency === 'WEEKLY' && rule.days.length) parts.push(`BYDAY=${DAYS.filter((day) => rule.days.includes(day)).join(',')}`)
  const monthly = rule.frequency === 'MONTHLY' || rule.frequency === 'YEARLY'
  if (rule.frequency === 'YEARLY' && rule.month) parts.push(`BYMONTH=${rule.month}`)
  if (monthly && rule.weekday) parts.push(`BYDAY=${rule.weekday.place}${rule.weekday.day}`)
  else if (monthly && rule.monthDay) parts.push(`BYMONTHDAY=${rule.monthDay}`)
  if (!['MINUTELY', 'HOURLY'].includes(rule.frequency)) {
    const [hour = '0', minute = '0'] = rule.time.split(':')
    parts.push(`BYHOUR=${Number(hour)}`, `BYMINUTE=${Number(minute)}`, 'BYSECOND=0')
  }
  if (rule.count) parts.push(`COUNT=${rule.count}`)
  else if (rule.until) parts.push(`UNTIL=${rule.until.replaceAll('-', '')}`)
  return `RRULE:${parts.join(';')}`
}

export const FIRST_RULE: Recurrence = { frequency: 'WEEKLY', interval: 1, days: ['MO'], monthDay: 1, weekday: null, month: 1, time: '09:00', count: null, until: null }

const PARTS = new Set(['FREQ', 'INTERVAL', 'BYDAY', 'BYMONTHDAY', 'BYHOUR', 'BYMINUTE', 'BYSECOND', 'COUNT', 'BYMONTH', 'UNTIL'])

/** The rule that the builder would write so; null if it says more than the builder can. */
export function recurrenceOf(text: string): Recurrence | null {
  const given = new Map(text.trim().replace(/^RRULE:/i, '').split(';').map((part) => part.toUpperCase().split('=') as [string, string]))
  const number = (name: string) => (/^-?\d+$/.test(given.get(name) ?? '') ? Number(given.get(name)) : null)
  const frequency = given.get('FREQ') as Frequency | undefined
  const listed = given.get('BYDAY')?.split(',') ?? []
  const [, place, day] = /^(-1|[1-4])([A-Z]{2})$/.exec(listed.join()) ?? []
  const weekday = place && day && (DAYS as readonly string[]).includes(day) ? { place: Number(place), day } : null
  const days = weekday ? [] : listed
  const [, year, month, last] = /^(\d{4})(\d\d)(\d\d)$/.exec(given.get('UNTIL') ?? '') ?? []
  const timed = given.has('BYHOUR') || given.has('BYMINUTE')
  if (!frequency || [...given.keys()].some((name) => !PARTS.has(name)) || days.some((day) => !(DAYS as readonly string[]).includes(day))) return null
  if ((timed && (number('BYHOUR') === null || number('BYMINUTE') === null)) || (number('BYSECOND') ?? 0) !== 0) return null
  if ((days.length > 0 && frequency !== 'WEEKLY') || (timed && ['MINUTELY', 'HOURLY'].includes(frequency)) || !FREQUENCIES.includes(frequency)) return null
  const [byMonth, byMonthDay] = ['BYMONTH', 'BYMONTHDAY'].map((name) => given.has(name))
  if ((weekday || byMonthDay) && frequency !== 'MONTHLY' && !(frequency === 'YEARLY' && byMonth)) return null
  if ((weekday && byMonthDay) || (byMonth && frequency !== 'YEARLY') || (given.has('UNTIL') && !year)) return null
  // Lists of numbers, and those that are none.
  if (['INTERVAL', 'BYMONTHDAY', 'BYMONTH', 'COUNT'].some((name) => given.has(name) && number(name) === null)) return null
  const two = (value: number | null) => String(value ?? 0).padStart(2, '0')
  return { frequency, interval: number('INTERVAL') ?? 1, days, monthDay: number('BYMONTHDAY'), weekday, month: number('BYMONTH'), time: timed ? `${two(number('BYHOUR'))}:${two(number('BYMINUTE'))}` : '00:00', count: number('COUNT'), until: year ? `${year}-${month}-${last}` : null }
}

/** What a builder begins with when it is chosen: the text as it is if it can read it. */
export function begin(mode: string, text: string, tomorrow: string): string {
  if (mode === 'interval') return kindOf(text) === 'interval' ? text : intervalText(15, 'm')
  if (mode === 'recurrence') return kindOf(text) === 'recurrence' ? text : recurrenceText(FIRST_RULE)
  if (mode === 'once') return kindOf(text) === 'once' ? text : `${tomorrow}T09:00`
  return text
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
