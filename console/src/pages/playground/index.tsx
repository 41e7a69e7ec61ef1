/** An expression explained, without signing in: words, next times on a line, clock changes, the difference of two. */
import { Alert, Button, Group, TextInput } from '@mantine/core'
import { IconAlertTriangle, IconClockEdit, IconRotate, IconRotateClockwise } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { ApiError, call } from '@/api/client'
import type { ClockChange, Explained } from '@/api/schema'
import { number, said, t } from '@/i18n'
import { dayTitle } from '@/parts/calendar/days'
import { browserZone, dayOf, exactly, shortly, validZone, wallOf } from '@/parts/instant'
import { Columns, Failure, Page, Panel } from '@/parts/Page'
import { useParameters } from '@/parts/parameters'
import { Time } from '@/parts/Time'
import { useTyped } from '@/parts/typed'
import { ZoneSelect } from '@/parts/ZoneSelect'
import { byDay, scaleOf } from './line'
import classes from './Playground.module.css'

const EXAMPLES = ['*/15 9-17 * * 1-5', '0 9 L * *', '30 2 * * *', 'every 90m', 'RRULE:FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=16;BYMINUTE=0;BYSECOND=0', '0 9 * * MON#1', '@hourly']

export default function Playground() {
  const [search, change] = useParameters()
  const schedule = search.get('schedule') ?? '30 2 * * *'
  const zone = search.get('timezone') ?? browserZone()
  const other = search.get('compare') ?? ''
  // An empty schedule stays in the address: without one an example is shown.
  const [text, type] = useTyped(schedule, (typed) => change({ schedule: typed }))
  const [otherText, typeOther] = useTyped(other, (typed) => change({ compare: typed || null }))
  const asked = { schedule: schedule.trim(), timezone: zone, compare: other.trim() }
  const explained = useQuery({
    queryKey: ['explain', asked],
    queryFn: ({ signal }) => call('POST /explain', { body: { schedule: asked.schedule, timezone: asked.timezone, count: 20, ...(asked.compare ? { compare: { schedule: asked.compare, timezone: asked.timezone } } : {}) }, signal }),
    enabled: asked.schedule.length > 0,
    placeholderData: keepPreviousData,
  })
  return (
    <Page title={t('When does it fire?')} about={t('Cron, RRULE, intervals and instants, on the wall clock of any zone, by the code that fires jobs.')}>
      <Panel>
        <div className={classes.fields}>
          <TextInput label={t('Schedule')} value={text} onChange={(event) => type(event.currentTarget.value)} styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }} size="sm" />
          <ZoneSelect size="sm" value={zone} onChange={(value) => change({ timezone: value })} />
          <TextInput label={t('Compare with (optional)')} placeholder="0 3 * * *" value={otherText} onChange={(event) => typeOther(event.currentTarget.value)} styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }} size="sm" />
        </div>
        <Group gap={4} mt="sm">{EXAMPLES.map((each) => <Button key={each} variant="default" size="compact-xs" className={classes.example ?? ''} onClick={() => change({ schedule: each })}>{each}</Button>)}</Group>
      </Panel>
      {explained.error ? <Panel><Wrong error={explained.error} /></Panel> : explained.data && <Shown data={explained.data} zone={validZone(zone)} />}
    </Page>
  )
}

function Wrong({ error }: { error: unknown }) {
  if (!(error instanceof ApiError)) return <Failure error={error} />
  return (
    <div role="alert">
      <p className="bad">{error.message}</p>
      {error.hint && <p>{error.hint}</p>}
    </div>
  )
}

function Shown({ data, zone }: { data: Explained; zone: string }) {
  const { difference } = data
  return (
    <>
      <Panel title={data.explanation} right={data.timezone}>
        <Line data={data} zone={zone} />
        <ol className={classes.times}>
          {data.occurrences.map((each) => (
            <li key={each.scheduled_at + each.local} data-skipped={each.skipped ? true : undefined}>
              <span className="num">{exactly(new Date(each.scheduled_at), zone)}</span>
              <span className="quiet"><Time at={each.scheduled_at} zone={zone} /></span>
              {(each.note || each.skipped) && <em>{each.note ?? `${t('skipped')}: ${t(each.skipped ?? '')}`}</em>}
            </li>
          ))}
        </ol>
        {data.warnings?.map((warning) => <Alert key={warning} mt="md" color="yellow" icon={<IconAlertTriangle size={16} />}>{said(warning)}</Alert>)}
      </Panel>
      <Columns>
        <Panel title={t('When the clocks change')} flush>
          {data.clock_changes.length === 0 ? <p className={classes.none}>{data.kind === 'interval' || data.kind === 'once' ? t('It follows no wall clock: clock changes do not touch it.') : t('The clocks of this zone do not change in the next 400 days.')}</p> : (
            <ul className={classes.changes}>{data.clock_changes.map((change) => <Change key={change.at} change={change} zone={zone} />)}</ul>
          )}
        </Panel>
        {difference && (
          <Panel title={t('The difference')} right={t('up to {time}', { time: shortly(new Date(difference.until), zone, new Date(0)) })} flush>
            <div className={classes.shares}>
              <div data-part="first"><strong>{number(difference.only_in_first)}</strong><span>{t('only in the first')}</span><em>{data.explanation}</em></div>
              <div><strong>{number(difference.common)}</strong><span>{t('in both')}</span></div>
              <div data-part="second"><strong>{number(difference.only_in_second)}</strong><span>{t('only in the second')}</span><em>{difference.explanation}</em></div>
            </div>
            {difference.differences.length === 0 ? <p className={classes.none}>{t('They fire at the same times.')}</p> : (
              <div className={classes.differences} tabIndex={0} role="group" aria-label={t('The difference')}>
                <table>
                  <thead><tr><th scope="col">{t('Day')}</th><th scope="col">{t('First')}</th><th scope="col">{t('Second')}</th></tr></thead>
                  <tbody>{byDay(difference.differences, zone).map((row) => <tr key={row.day}><td>{dayTitle(row.day)}</td><td data-part="first">{times(row.first)}</td><td data-part="second">{times(row.second)}</td></tr>)}</tbody>
                </table>
              </div>
            )}
          </Panel>
        )}
      </Columns>
    </>
  )
}

function times(list: string[]): string {
  return list.length > 6 ? `${list.slice(0, 6).join(' ')} ${t('{count} more', { count: list.length - 6 })}` : list.join(' ') || '–'
}

/** What happens to the clock, and what that does to the schedule. */
function Change({ change, zone }: { change: ClockChange; zone: string }) {
  const forward = change.text.includes('forward')
  const [, , told] = change.text.split(': ')
  return (
    <li>
      <span className={classes.turn} aria-hidden>{forward ? <IconRotateClockwise size={16} /> : <IconRotate size={16} />}</span>
      <div>
        <strong>{dayTitle(dayOf(new Date(change.at), zone), true)} {dayOf(new Date(change.at), zone).slice(0, 4)}</strong> <span className="quiet"><Time at={change.at} zone={zone} /></span>
        <p className="quiet">{forward ? t('Clocks go forward') : t('Clocks go back')}{told ? `: ${told}` : ''}</p>
        {change.effect && <p className={classes.effect} data-calm={change.effect.startsWith('it is not touched') || undefined}>{change.effect}</p>}
      </div>
    </li>
  )
}

/** The times as points from now on, with dates below and clock changes between them; those of the second on a line below. */
function Line({ data, zone }: { data: Explained; zone: string }) {
  const scale = scaleOf(data.occurrences.filter((each) => !each.skipped).map((each) => each.scheduled_at))
  if (!scale) return null
  const others = data.difference ? data.difference.differences.filter((each) => each.only_in === 'second').map((each) => each.at) : []
  const changes = data.clock_changes.filter((change) => scale.place(change.at) >= 0 && scale.place(change.at) <= 100)
  return (
    <div className={classes.line} aria-hidden>
      {changes.map((change) => <i key={change.at} className={classes.mark} style={{ left: `${scale.place(change.at)}%` }} title={change.text}><IconClockEdit size={12} /></i>)}
      <div className={classes.row}>{scale.times.map((at) => <span key={at} style={{ left: `${scale.place(at)}%` }} title={exactly(new Date(at), zone)} />)}</div>
      {others.length > 0 && <div className={classes.row} data-part="second">{others.filter((at) => scale.place(at) >= 0 && scale.place(at) <= 100).map((at) => <span key={at} style={{ left: `${scale.place(at)}%` }} title={exactly(new Date(at), zone)} />)}</div>}
      <div className={classes.dates}>{scale.ticks.map((at) => <em key={at} style={{ left: `${scale.place(at)}%` }}>{scale.days ? dayTitle(dayOf(new Date(at), zone)) : wallOf(new Date(at), zone).slice(11)}</em>)}</div>
    </div>
  )
}
