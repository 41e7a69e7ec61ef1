/** Is anything wrong, and what comes next. */
import { useDebouncedCallback } from '@mantine/hooks'
import { IconAlertOctagon, IconAlertOctagonFilled, IconAlertTriangle, IconAlertTriangleFilled, IconChevronRight, IconCircleCheckFilled, IconInfoCircle } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState, type ReactNode } from 'react'
import { Link } from 'react-router'
import { address, call } from '@/api/client'
import type { Attention, Figures as Tallied, Overview as Figures } from '@/api/schema'
import { useLiveState, useSession, useZone } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import { attentionText } from '@/parts/attention'
import { Bars } from '@/parts/Bars'
import { Chart, type Line } from '@/parts/Chart'
import { here } from '@/parts/command'
import { Code } from '@/parts/Copy'
import { dayOf, duration, inZones, wallOf } from '@/parts/instant'
import { Answer, Page, Panel } from '@/parts/Page'
import { Spark } from '@/parts/Spark'
import { Status } from '@/parts/Status'
import { useNow } from '@/parts/Time'
import { punctuality } from './punctuality'
import classes from './Overview.module.css'

export default function Overview() {
  const live = useLiveState()
  const asked = useQuery({ queryKey: ['overview'], queryFn: () => call('GET /overview', {}), refetchInterval: live.state === 'off' ? 5000 : false })
  const figures = live.overview ?? asked.data
  return (
    <Page title={t('Overview')}>
      <Answer query={{ data: figures, error: asked.error }} lines={8}>
        {(data) => (
          <>
            {!data.first_job_fired && <FirstSteps jobs={Object.values(data.jobs).reduce((sum, each) => sum + each, 0)} />}
            <Verdict data={data} />
            <Now data={data} />
            <Tallies data={data} />
            <div className={classes.pair}>
              <NextHour />
              <Lateness data={data} />
            </div>
          </>
        )}
      </Answer>
    </Page>
  )
}

/** Is anything wrong? One word in two seconds, and what it is in a line each. */
function Verdict({ data }: { data: Figures }) {
  // What is shown is as old as the connection is lost: nothing is said of now.
  const lost = useLiveState().state === 'lost'
  const items = data.attention
  const serious = items.filter((item) => item.severity !== 'info')
  const tone = lost ? 'warn' : toneOfItems(items)
  const Sign = tone === 'good' ? IconCircleCheckFilled : tone === 'warn' ? IconAlertTriangleFilled : IconAlertOctagonFilled
  const title = lost ? t('How things are is not known') : tone === 'good' ? t('Everything runs as it should') : tone === 'warn' ? tn('{count} thing needs attention', '{count} things need attention', serious.length) : t('Something is wrong')
  return (
    <section className={classes.verdict} data-tone={tone} aria-label={t('What needs attention')}>
      <div className={classes.word}>
        <Sign size={26} aria-hidden />
        <div>
          <strong>{title}</strong>
          <span className="quiet">{lost ? t('What is shown is as old as the connection is lost.') : tone === 'good' ? t('Nodes, shards, queues and the last hour were looked at.') : t('Each line leads to what it is about.')}</span>
        </div>
      </div>
      {items.length > 0 && (
        <ul className={classes.items}>
          {items.map((item) => {
            const Icon = item.severity === 'info' ? IconInfoCircle : item.severity === 'error' ? IconAlertOctagon : IconAlertTriangle
            const to = linkOf(item)
            const inside = <><Icon size={16} aria-hidden /><span>{attentionText(item)}</span>{to && <IconChevronRight size={14} aria-hidden />}</>
            return <li key={item.code + item.text} data-severity={item.severity}>{to ? <Link to={to}>{inside}</Link> : <div>{inside}</div>}</li>
          })}
        </ul>
      )}
    </section>
  )
}

function toneOfItems(items: Pick<Attention, 'severity'>[]): 'good' | 'warn' | 'bad' {
  if (items.some((item) => item.severity === 'error')) return 'bad'
  return items.some((item) => item.severity === 'warning') ? 'warn' : 'good'
}

export function linkOf(item: Attention): string | null {
  const query = new URLSearchParams(item.link ?? {}).toString()
  const suffix = query ? `?${query}` : ''
  switch (item.link_kind) {
    case 'jobs':
    case 'runs':
    case 'dead':
    case 'queues':
    case 'cluster':
      return `/${item.link_kind}${suffix}`
    case 'job':
      return item.link?.['job'] ? `/jobs/${encodeURIComponent(item.link['job'])}` : '/jobs'
    default:
      return null
  }
}

function Now({ data }: { data: Figures }) {
  const now = useNow()
  // By the clock of the server, which says when it was due.
  const { skew } = useLiveState()
  const overdue = data.oldest_due_at ? (now.getTime() + skew - new Date(data.oldest_due_at).getTime()) / 1000 : 0
  const session = useSession()
  const cluster = session.mayEverywhere('viewer')
  return (
    <div className={classes.figures}>
      {data.nodes && <Figure to={cluster ? '/cluster' : null} name={t('Nodes')} value={number(data.nodes.live)} detail={data.nodes.stale ? tn('{count} silent', '{count} silent', data.nodes.stale) : t('{schedulers} schedule, {workers} work', { schedulers: data.nodes.schedulers, workers: data.nodes.workers })} bad={data.nodes.stale > 0 || data.nodes.workers === 0} />}
      {data.shards && <Figure to={cluster ? '/cluster' : null} name={t('Shards led')} value={`${number(data.shards.led)}/${number(data.shards.total)}`} detail={data.shards.led === data.shards.total ? t('all have a leader') : t('some jobs do not fire')} bad={data.shards.led < data.shards.total} />}
      <Figure to="/jobs?sort=next_run_at" name={t('Oldest due')} value={overdue > 1 ? duration(overdue) : t('none')} detail={overdue > 1 ? t('overdue') : t('nothing is overdue')} bad={overdue > 10} />
      <Figure to="/queues" name={t('Waiting')} value={number(data.queue_depth)} detail={t('{count} running', { count: number(data.running) })} bad={false} />
      <Figure to="/dead" name={t('Dead letters')} value={number(data.dead)} detail={data.dead ? t('to redrive or discard') : t('none')} bad={data.dead > 0} />
      <Figure to="/jobs" name={t('Jobs')} value={number(data.jobs['active'] ?? 0)} detail={t('{paused} paused', { paused: number(data.jobs['paused'] ?? 0) })} bad={data.problems > 0} />
    </div>
  )
}

function Figure({ to, name, value, detail, bad }: { to: string | null; name: string; value: string; detail: string; bad: boolean }) {
  const inside: ReactNode = (
    <>
      <span className={classes.name}>{name}</span>
      <span className={classes.value}>{value}</span>
      <span className={classes.detail}>{detail}</span>
    </>
  )
  return to ? <Link to={to} className={classes.figure} data-bad={bad || undefined}>{inside}</Link> : <div className={classes.figure} data-bad={bad || undefined}>{inside}</div>
}

/** The last hour and day: each number leads to its runs. */
function Tallies({ data }: { data: Figures }) {
  const rows = [
    { name: t('Last hour'), tally: data.hour },
    { name: t('Last day'), tally: data.day },
  ]
  const minutes = data.lateness
  return (
    <Panel
      title={t('What happened')}
      right={<><span>{t('fired per minute, last hour')}</span><Spark values={minutes.map((each) => each.fired)} tone="good" height={16} label={t('Fired per minute in the last hour: {count} in all', { count: data.hour.fired })} /></>}
      flush
    >
      <table className={classes.tallies}>
        <thead>
          <tr>
            <th scope="col" />
            {COLUMNS.map((column) => <th key={column.state} scope="col">{t(column.name)}</th>)}
            <th scope="col">{t('On time')}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, tally }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {COLUMNS.map((column) => (
                <td key={column.state} data-state={column.state} data-none={tally[column.of] === 0 || undefined}>
                  <Link to={`/runs?${column.query}&since=${encodeURIComponent(tally.since)}`} aria-label={`${name}, ${t(column.name)}: ${number(tally[column.of])}`}>{number(tally[column.of])}</Link>
                </td>
              ))}
              <td><span className="num quiet">{punctuality(tally)}</span></td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}

const COLUMNS: { state: string; of: Exclude<keyof Tallied, 'since'>; name: string; query: string }[] = [
  { state: 'fired', of: 'fired', name: 'Fired', query: 'trigger=schedule' },
  { state: 'success', of: 'succeeded', name: 'Succeeded', query: 'status=success' },
  { state: 'late', of: 'late', name: 'Late', query: 'late=true' },
  { state: 'failed', of: 'failed', name: 'Failed', query: 'status=dead,expired,failed' },
  { state: 'skipped', of: 'skipped', name: 'Skipped', query: 'status=skipped&include=skipped' },
]

/** What fires in each of the next minutes: the herd is to be seen, and who belongs to it. */
function NextHour() {
  const zone = useZone()
  const now = useNow()
  const asked = useQuery({ queryKey: ['upcoming'], queryFn: () => call('GET /upcoming', { query: { minutes: 60 } }), refetchInterval: 60_000, meta: { follow: address('GET /upcoming', {}, { minutes: 60 }) } })
  const [picked, setPicked] = useState<string | null>(null)
  const queries = useQueryClient()
  // Not for each bar that the pointer crosses.
  const fetchAhead = useDebouncedCallback((at: string) => void queries.prefetchQuery(minuteQuery(at)), 80)
  return (
    <Panel title={t('The next 60 minutes')} right={asked.data ? tn('{count} firing', '{count} firings', asked.data.minutes.reduce((sum, each) => sum + each.firings, 0)) : undefined}>
      <Answer query={asked}>
        {(data) => {
          const most = data.minutes.reduce((best, each) => (each.firings > best.firings ? each : best), { at: data.start, firings: 0, jobs: 0 })
          const shown = data.minutes.find((each) => each.at === picked) ?? most
          if (most.firings === 0) return <p className={classes.note}>{t('Nothing fires in the next hour.')}</p>
          return (
            <>
              <Bars
                height={110}
                label={t('Firings per minute; most at {time}: {count}', { time: inZones(new Date(most.at), [zone], now), count: most.firings })}
                picked={shown.at}
                pick={setPicked}
                point={fetchAhead}
                bars={data.minutes.map((each, index) => ({
                  key: each.at,
                  value: each.firings,
                  label: `${inZones(new Date(each.at), [zone], now)} · ${tn('{count} firing', '{count} firings', each.firings)} · ${tn('{count} job', '{count} jobs', each.jobs)}`,
                  tick: index % 10 === 0 ? wallOf(new Date(each.at), zone).slice(11) : undefined,
                }))}
              />
              {shown.firings > 0 && <MinuteJobs at={shown.at} firings={shown.firings} busiest={shown.at === most.at} />}
              {data.estimated && <p className={classes.note}>{t('An estimate: there are too many jobs to work each one out.')}</p>}
            </>
          )
        }}
      </Answer>
    </Panel>
  )
}

const NAMED = 12

function minuteQuery(at: string) {
  const end = new Date(new Date(at).getTime() + 60_000).toISOString()
  return { queryKey: ['upcoming', 'minute', at], queryFn: () => call('GET /calendar', { query: { start: at, end, kinds: 'jobs' } }), staleTime: 60_000 }
}

/** The jobs of one minute, each a link. */
function MinuteJobs({ at, firings, busiest }: { at: string; firings: number; busiest: boolean }) {
  const zone = useZone()
  const now = useNow()
  const asked = useQuery({ ...minuteQuery(at), retry: false })
  const jobs = new Map(asked.data?.entries.filter((each) => each.job_id).map((each) => [each.job_id ?? '', each.title]))
  return (
    <p className={classes.minute} aria-live="polite">
      <strong className="num">{inZones(new Date(at), [zone], now)}</strong> <span className="quiet">{tn('{count} firing', '{count} firings', firings)}{busiest ? `, ${t('the busiest minute')}` : ''}:</span>{' '}
      {[...jobs].slice(0, NAMED).map(([id, title], index) => <span key={id}>{index > 0 && ', '}<Link to={`/jobs/${id}`}>{title}</Link></span>)}
      {jobs.size > NAMED && <> <Link to={`/calendar?view=day&day=${dayOf(new Date(at), zone)}`}>{tn('and {count} more', 'and {count} more', jobs.size - NAMED)}</Link></>}
      {jobs.size === 0 && <span className="quiet">{asked.isPending ? '…' : t('the calendar has them')}</span>}
    </p>
  )
}

const milliseconds = (value: number) => duration(value / 1000)

function Lateness({ data }: { data: Figures }) {
  const points = data.lateness
  const any = points.some((point) => point.fired > 0)
  const at = useMemo(() => points.map((point) => point.at), [points])
  const lines = useMemo((): Line[] => [
    { label: 'p99', values: points.map((point) => point.p99_ms), color: '--accent', fill: true },
    { label: 'p50', values: points.map((point) => point.p50_ms), color: '--info-mark', dash: [5, 3] },
  ], [points])
  return (
    <Panel title={t('Lateness, last hour')} right={t('from due to the start of the first try')}>
      {any ? (
        <Chart
          label={t('Lateness over the last hour')}
          at={at}
          unit={milliseconds}
          lines={lines}
        />
      ) : (
        <p className={classes.note}>{t('Nothing has fired in the last hour.')}</p>
      )}
    </Panel>
  )
}

function FirstSteps({ jobs }: { jobs: number }) {
  return (
    <Panel title={t('First steps')} right={<Status status={jobs ? 'pending' : 'upcoming'} label={jobs ? t('waiting for the first firing') : t('no job yet')} />}>
      <ol className={classes.steps}>
        <li data-done={jobs > 0 || undefined}>
          <strong>{t('Make a job')}</strong> <Link to="/jobs/new?schedule=every+10s&handler=sexton.log&name=hello">{t('in the form')}</Link> {t('or on the command line:')}
          <Code>{here("sexton jobs add hello --schedule 'every 10s' --handler sexton.log --payload '{\"n\":1}'")}</Code>
        </li>
        <li><strong>{t('See it fire')}</strong> {t('– it appears under Runs within ten seconds, without reloading.')}</li>
        <li><strong>{t('Ask why')}</strong> {t('– every occurrence has exactly one account:')}<Code>{here('sexton why hello')}</Code></li>
      </ol>
    </Panel>
  )
}
