/** The schedule: paste anything, or build an interval, a recurrence or one instant. */
import { Checkbox, Group, NumberInput, SegmentedControl, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { t } from '@/i18n'
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
      {mode === 'recurrence' && <RecurrenceBuilder value={value} onChange={onChange} />}
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

function RecurrenceBuilder({ value, onChange }: { value: string; onChange(text: string): void }) {
  const read = recurrenceOf(value)
  const rule = read ?? FIRST_RULE
  const change = (next: Partial<Recurrence>) => onChange(recurrenceText({ ...rule, ...next }))
  const names: Record<string, string> = { MO: t('Mon'), TU: t('Tue'), WE: t('Wed'), TH: t('Thu'), FR: t('Fri'), SA: t('Sat'), SU: t('Sun') }
  return (
    <div>
      {!read && <p className="quiet">{t('This rule says more than the fields below can: changing one of them writes it anew.')}</p>}
      <Group gap="xs" align="end">
        <NumberInput label={t('Every')} min={1} w={80} value={rule.interval} onChange={(next) => change({ interval: Number(next) || 1 })} />
        <Select aria-label={t('Unit')} w={130} allowDeselect={false} value={rule.frequency} onChange={(next) => change({ frequency: (next ?? 'WEEKLY') as Frequency })} data={[['MINUTELY', t('minutes')], ['HOURLY', t('hours')], ['DAILY', t('days')], ['WEEKLY', t('weeks')], ['MONTHLY', t('months')], ['YEARLY', t('years')]].map(([value = '', label = '']) => ({ value, label }))} />
        {!['MINUTELY', 'HOURLY'].includes(rule.frequency) && <TextInput type="time" label={t('At')} w={110} value={rule.time} onChange={(event) => change({ time: event.currentTarget.value })} />}
        {rule.frequency === 'MONTHLY' && <NumberInput label={t('On day')} description={t('-1: the last')} min={-31} max={31} w={90} value={rule.monthDay ?? ''} onChange={(next) => change({ monthDay: Number(next) || null })} />}
        <NumberInput label={t('Times in all')} placeholder={t('no end')} min={1} w={110} value={rule.count ?? ''} onChange={(next) => change({ count: Number(next) || null })} />
      </Group>
      {rule.frequency === 'WEEKLY' && (
        <Checkbox.Group mt="xs" label={t('On')} value={rule.days} onChange={(days) => change({ days })}>
          <Group gap="sm" mt={4}>{DAYS.map((day) => <Checkbox key={day} value={day} label={names[day]} />)}</Group>
        </Checkbox.Group>
      )}
    </div>
  )
}
