/** An expression explained, without signing in: words, next times on a line, clock changes, the difference of two. */
import { Anchor, Button, Group, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'react-router'
import { ApiError, call } from '@/api/client'
import type { Explained } from '@/api/schema'
import icon from '@/icon.svg'
import { t } from '@/i18n'
import { browserZone, exactly, validZone } from '@/parts/instant'
import { Failure, Page, Panel } from '@/parts/Page'
import { Time } from '@/parts/Time'
import { ZoneSelect } from '@/parts/ZoneSelect'
import classes from './Playground.module.css'

const EXAMPLES = ['*/15 9-17 * * 1-5', '0 9 L * *', '30 2 * * *', 'every 90m', 'RRULE:FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=16;BYMINUTE=0;BYSECOND=0', '0 9 * * MON#1', '@hourly']

export default function Playground() {
  const [search, setSearch] = useSearchParams()
  const schedule = search.get('schedule') ?? '30 2 * * *'
  const zone = search.get('timezone') ?? browserZone()
  const other = search.get('compare') ?? ''
  const set = (name: string, value: string | null) =>
    setSearch((before) => {
      const next = new URLSearchParams(before)
      if (value) next.set(name, value)
      else next.delete(name)
      return next
    }, { replace: true })
  const [asked] = useDebouncedValue({ schedule: schedule.trim(), timezone: zone, compare: other.trim() }, 250)
  const explained = useQuery({
    queryKey: ['explain', asked],
    queryFn: () => call('POST /explain', { body: { schedule: asked.schedule, timezone: asked.timezone, count: 20, ...(asked.compare ? { compare: { schedule: asked.compare, timezone: asked.timezone } } : {}) } }),
    enabled: asked.schedule.length > 0,
    placeholderData: keepPreviousData,
    retry: false,
  })
  return (
    <div className={classes.frame}>
      <header className={classes.top}>
        <a href="/" className={classes.brand}><img src={icon} alt="" width={22} height={22} />Sexton</a>
        <span className="quiet">{t('Playground')}</span>
        <span className={classes.space} />
        <Anchor href="/">{t('Console')}</Anchor>
        <Anchor href="/docs">{t('API documentation')}</Anchor>
      </header>
      <main>
        <Page title={t('When does it fire?')} about={t('Cron, RRULE, intervals and instants, on the wall clock of any zone, by the code that fires jobs.')}>
          <Panel>
            <div className={classes.fields}>
              <TextInput label={t('Schedule')} value={schedule} onChange={(event) => set('schedule', event.currentTarget.value)} styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }} size="sm" />
              <ZoneSelect size="sm" value={zone} onChange={(value) => set('timezone', value)} />
              <TextInput label={t('Compare with (optional)')} placeholder="0 3 * * *" value={other} onChange={(event) => set('compare', event.currentTarget.value)} styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }} size="sm" />
            </div>
            <Group gap={4} mt="sm">{EXAMPLES.map((each) => <Button key={each} variant="default" size="compact-xs" className={classes.example ?? ''} onClick={() => set('schedule', each)}>{each}</Button>)}</Group>
          </Panel>
          {explained.error ? <Panel><Wrong error={explained.error} /></Panel> : explained.data && <Shown data={explained.data} zone={validZone(zone)} />}
        </Page>
      </main>
    </div>
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
  return (
    <>
      <Panel title={data.explanation} right={data.timezone}>
        <Line data={data} />
        <ol className={classes.times}>
          {data.occurrences.map((each) => (
            <li key={each.scheduled_at + each.local} data-skipped={each.skipped ? true : undefined}>
              <span className="num">{exactly(new Date(each.scheduled_at), zone)}</span>
              <span className="quiet"><Time at={each.scheduled_at} zone={zone} /></span>
              {(each.note || each.skipped) && <em>{each.note ?? `${t('skipped')}: ${each.skipped}`}</em>}
            </li>
          ))}
        </ol>
        {data.warnings?.map((warning) => <p key={warning} className="warn">{warning}</p>)}
      </Panel>
      {data.clock_changes && data.clock_changes.length > 0 && (
        <Panel title={t('Clock changes')}>
          <ul className={classes.plain}>{data.clock_changes.map((change) => <li key={change.at}><Time at={change.at} zone={zone} show="both" /> {change.text}</li>)}</ul>
        </Panel>
      )}
      {data.difference && (
        <Panel title={t('The difference')} right={data.difference.explanation}>
          <p>{t('Up to {time}: {common} in both, {first} only in the first, {second} only in the second.', { time: exactly(new Date(data.difference.until), zone), common: data.difference.common, first: data.difference.only_in_first, second: data.difference.only_in_second })}</p>
          <table className={classes.difference}>
            <thead><tr><th scope="col">{t('When')}</th><th scope="col">{t('First')}</th><th scope="col">{t('Second')}</th></tr></thead>
            <tbody>{data.difference.differences.map((each) => <tr key={each.at + each.only_in}><td className="num">{exactly(new Date(each.at), zone)}</td><td>{each.only_in === 'first' ? '●' : ''}</td><td>{each.only_in === 'second' ? '●' : ''}</td></tr>)}</tbody>
          </table>
        </Panel>
      )}
    </>
  )
}

/** The times as points between the first and the last. */
function Line({ data }: { data: Explained }) {
  const times = data.occurrences.filter((each) => !each.skipped).map((each) => new Date(each.scheduled_at).getTime())
  const [first, last] = [Math.min(...times), Math.max(...times)]
  if (times.length < 2) return null
  return (
    <div className={classes.line} aria-hidden>
      {times.map((at) => <span key={at} style={{ left: `${((at - first) / (last - first)) * 100}%` }} />)}
    </div>
  )
}
