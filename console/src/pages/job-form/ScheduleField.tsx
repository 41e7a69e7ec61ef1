/** The schedule: paste anything, or build an interval, a recurrence or one instant. */
import { Checkbox, Group, NumberInput, SegmentedControl, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { locale, t } from '@/i18n'
import { dayOf } from '@/parts/instant'
import { begin, DAYS, FIRST_RULE, intervalText, kindOf, recurrenceOf, recurrenceText, type Frequency, type Recurrence } from './schedule'

interface Props {
  value: string
  onChange(text: string): void
  error?: string | undefined
  /** The wall clock of the schedule. */
  zone: string
}

export function ScheduleField({ value, onChange, error, zone }: Props) {
  const [mode, setMode] = useState<string>(() => kindOf(value))
  return (
    <div>
      <SegmentedControl
        mb="xs"
        fullWidth
        aria-label={t('How to write the schedule')}
        value={mode}
        onChange={(next) => {
          setMode(next)
          onChange(begin(next, value, dayOf(new Date(Date.now() + 86_400_000), zone)))
        }}
        data={[
          { value: 'text', label: t('Cron or text') },
          { value: 'recurrence', label: t('Recurrence') },
          { value: 'interval', label: t('Interval') },
          { value: 'once', label: t('Once') },
        ]}
      />
      {mode === 'recurrence' && <RecurrenceBuilder value={value} onChange={onChange} zone={zone} />}
      {mode === 'interval' && <IntervalBuilder value={value} onChange={onChange} />}
      {mode === 'once' && (
        <TextInput type="datetime-local" label={t('Date and time')} description={t('On the wall clock of the time zone below.')} min={`${dayOf(new Date(), zone)}T00:00`} value={/^\d{4}-/.test(value) ? value.slice(0, 16) : ''} onChange={(event) => onChange(event.currentTarget.value)} />
      )}
      <TextInput
        mt={mode === 'text' ? 0 : 'xs'}
        label={t('Schedule')}
        description={mode === 'text' ? t('A cron line, an RRULE, every 15m, @daily, an instant, in 10m: paste anything.') : undefined}
        required
        placeholder="0 9 * * 1-5"
        autoComplete="off"
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        error={error}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      />
    </div>
  )
}

function IntervalBuilder({ value, onChange }: { value: string; onChange(text: string): void }) {
  const found = /^every (\d+)([smhd])$/.exec(value)
  const amount = Number(found?.[1] ?? 15)
  const unit = (found?.[2] ?? 'm') as 's' | 'm' | 'h' | 'd'
  return (
    <Group gap="xs" align="end">
      <NumberInput label={t('Every')} min={1} w={100} value={amount} onChange={(next) => onChange(intervalText(Number(next) || 1, unit))} />
      <Select aria-label={t('Unit')} w={140} allowDeselect={false} value={unit} data={[{ value: 's', label: t('seconds') }, { value: 'm', label: t('minutes') }, { value: 'h', label: t('hours') }, { value: 'd', label: t('days') }]} onChange={(next) => onChange(intervalText(amount, (next ?? 'm') as typeof unit))} />
    </Group>
  )
}

function RecurrenceBuilder({ value, onChange, zone }: { value: string; onChange(text: string): void; zone: string }) {
  const read = recurrenceOf(value)
  const rule = read ?? FIRST_RULE
  const later = dayOf(new Date(Date.now() + 365 * 86_400_000), zone)
  const change = (next: Partial<Recurrence>) => onChange(recurrenceText({ ...rule, ...next }))
  const names: Record<string, string> = { MO: t('Mon'), TU: t('Tue'), WE: t('Wed'), TH: t('Thu'), FR: t('Fri'), SA: t('Sat'), SU: t('Sun') }
  const monthly = rule.frequency === 'MONTHLY' || rule.frequency === 'YEARLY'
  // What a year has a month for; the text says what it means without one.
  const begun = (frequency: Frequency): Partial<Recurrence> => ({ frequency, ...(frequency === 'YEARLY' ? { month: rule.month ?? 1 } : {}), ...(['MONTHLY', 'YEARLY'].includes(frequency) && !rule.weekday ? { monthDay: rule.monthDay ?? 1 } : {}) })
  const end = rule.count ? 'count' : rule.until ? 'until' : 'never'
  return (
    <div>
      {!read && <p className="quiet">{t('This rule says more than the fields below can: changing one of them writes it anew.')}</p>}
      <Group gap="xs" align="end">
        <NumberInput label={t('Every')} min={1} w={80} value={rule.interval} onChange={(next) => change({ interval: Number(next) || 1 })} />
        <Select aria-label={t('Unit')} w={130} allowDeselect={false} value={rule.frequency} onChange={(next) => change(begun((next ?? 'WEEKLY') as Frequency))} data={[['MINUTELY', t('minutes')], ['HOURLY', t('hours')], ['DAILY', t('days')], ['WEEKLY', t('weeks')], ['MONTHLY', t('months')], ['YEARLY', t('years')]].map(([value = '', label = '']) => ({ value, label }))} />
        {!['MINUTELY', 'HOURLY'].includes(rule.frequency) && <TextInput type="time" label={t('At')} w={110} value={rule.time} onChange={(event) => change({ time: event.currentTarget.value })} />}
      </Group>
      {monthly && (
        <Group gap="xs" align="end" mt="xs">
          {rule.frequency === 'YEARLY' && <Select label={t('In')} w={130} allowDeselect={false} value={rule.month === null ? null : String(rule.month)} onChange={(next) => change({ month: Number(next) })} data={monthNames().map((label, place) => ({ value: String(place + 1), label }))} />}
          <Select label={t('On')} w={150} allowDeselect={false} value={String(rule.weekday?.place ?? 'day')} onChange={(next) => change(next === 'day' ? { weekday: null, monthDay: rule.monthDay ?? 1 } : { weekday: { place: Number(next), day: rule.weekday?.day ?? 'MO' } })} data={[['day', t('the day')], ['1', t('the first')], ['2', t('the second')], ['3', t('the third')], ['4', t('the fourth')], ['-1', t('the last')]].map(([value = '', label = '']) => ({ value, label }))} />
          {rule.weekday
            ? <Select aria-label={t('Day of the week')} w={110} allowDeselect={false} value={rule.weekday.day} onChange={(next) => change({ weekday: { place: rule.weekday?.place ?? 1, day: next ?? 'MO' } })} data={DAYS.map((value) => ({ value, label: names[value] ?? value }))} />
            : <NumberInput aria-label={t('On day')} min={-31} max={31} w={90} value={rule.monthDay ?? ''} onChange={(next) => change({ monthDay: Number(next) || null })} />}
          {!rule.weekday && <span className="quiet" style={{ fontSize: 12, lineHeight: '30px' }}>{t('-1: the last')}</span>}
        </Group>
      )}
      {rule.frequency === 'WEEKLY' && (
        <Checkbox.Group mt="xs" label={t('On')} value={rule.days} onChange={(days) => change({ days })}>
          <Group gap="sm" mt={4}>{DAYS.map((day) => <Checkbox key={day} value={day} label={names[day]} />)}</Group>
        </Checkbox.Group>
      )}
      <Group gap="xs" align="end" mt="xs">
        <Select label={t('Ends')} w={130} allowDeselect={false} value={end} onChange={(next) => change({ count: next === 'count' ? 10 : null, until: next === 'until' ? later : null })} data={[{ value: 'never', label: t('never') }, { value: 'count', label: t('after some times') }, { value: 'until', label: t('on a day') }]} />
        {end === 'count' && <NumberInput aria-label={t('Times in all')} suffix={` ${t('times')}`} min={1} w={130} value={rule.count ?? ''} onChange={(next) => change({ count: Number(next) || 1 })} />}
        {end === 'until' && <TextInput type="date" aria-label={t('The last day')} w={150} value={rule.until ?? ''} onChange={(event) => change({ until: event.currentTarget.value || later })} />}
      </Group>
    </div>
  )
}

function monthNames(): string[] {
  const format = new Intl.DateTimeFormat(locale(), { timeZone: 'UTC', month: 'long' })
  return Array.from({ length: 12 }, (_, month) => format.format(new Date(Date.UTC(2027, month, 1))))
}
