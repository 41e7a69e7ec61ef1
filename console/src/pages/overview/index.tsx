/** Is anything wrong, and what comes next. */
import { IconAlertTriangle, IconCircleCheck, IconInfoCircle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'react-router'
import { call } from '@/api/client'
import type { Attention, Figures as Tallied, Overview as Figures } from '@/api/schema'
import { useLiveState, useSession, useZone } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import { Bars } from '@/parts/Bars'
import { Chart } from '@/parts/Chart'
import { Code } from '@/parts/Copy'
import { duration, shortly } from '@/parts/instant'
import { Answer, Columns, Page, Panel } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time, useNow } from '@/parts/Time'
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
            <Wrong items={data.attention} />
            <Now data={data} />
            <Columns>
              <Tally title={t('Last hour')} tally={data.hour} />
              <Tally title={t('Last day')} tally={data.day} />
            </Columns>
            <NextHour />
            <Lateness data={data} />
          </>
        )}
      </Answer>
    </Page>
  )
}

function Wrong({ items }: { items: Attention[] }) {
  const serious = items.filter((item) => item.severity !== 'info')
  return (
    <section className={classes.wrong} data-tone={serious.some((item) => item.severity === 'error') ? 'bad' : serious.length ? 'warn' : 'good'} aria-label={t('What needs attention')}>
      {serious.length === 0 && (
        <p className={classes.fine}>
          <IconCircleCheck size={18} aria-hidden />
          <strong>{t('Everything runs as it should.')}</strong>
        </p>
      )}
      {items.map((item) => {
        const Icon = item.severity === 'info' ? IconInfoCircle : IconAlertTriangle
        const to = linkOf(item)
        return (
          <p key={item.code + item.text} className={classes.item} data-severity={item.severity}>
            <Icon size={16} aria-hidden />
            <span>{item.text}</span>
            {to && <Link to={to}>{t('Look')}</Link>}
          </p>
        )
      })}
    </section>
  )
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
  const overdue = data.oldest_due_at ? (now.getTime() - new Date(data.oldest_due_at).getTime()) / 1000 : 0
  const session = useSession()
  const cluster = session.mayEverywhere('viewer')
  return (
    <div className={classes.figures}>
      {data.nodes && <Figure to={cluster ? '/cluster' : null} name={t('Nodes')} value={number(data.nodes.live)} detail={data.nodes.stale ? tn('{count} silent', '{count} silent', data.nodes.stale) : t('{schedulers} schedule, {workers} work', { schedulers: data.nodes.schedulers, workers: data.nodes.workers })} bad={data.nodes.stale > 0 || data.nodes.workers === 0} />}
      {data.shards && <Figure to={cluster ? '/cluster' : null} name={t('Shards led')} value={`${number(data.shards.led)}/${number(data.shards.total)}`} detail={data.shards.led === data.shards.total ? t('all have a leader') : t('some jobs do not fire')} bad={data.shards.led < data.shards.total} />}
      <Figure to="/jobs?sort=next_run_at" name={t('Oldest due')} value={overdue > 1 ? duration(overdue) : t('none')} detail={overdue > 1 ? t('overdue') : t('nothing is overdue')} bad={overdue > 10} />
      <Figure to="/queues" name={t('Waiting')} value={number(data.queue_depth)} detail={t('{count} running', { count: number(data.running) })} bad={false} />
      <Figure to="/dead" name={t('Dead letters')} value={number(data.dead)} detail={data.dead ? t('to be redriven or discarded') : t('none')} bad={data.dead > 0} />
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

function Tally({ title, tally }: { title: string; tally: Tallied }) {
  const since = tally.since ? `&since=${encodeURIComponent(tally.since)}` : ''
  const rows: [string, number, string, string][] = [
    ['fired', tally.fired, t('Fired'), `/runs?trigger=schedule${since}`],
    ['success', tally.succeeded, t('Succeeded'), `/runs?status=success${since}`],
    ['late', tally.late, t('Late'), `/runs?late=true${since}`],
    ['failed', tally.failed, t('Failed tries'), `/runs?status=failed${since}`],
    ['dead', tally.dead, t('Dead'), `/runs?status=dead${since}`],
    ['skipped', tally.skipped, t('Skipped'), `/runs?status=skipped&include=skipped${since}`],
  ]
  const share = tally.fired > 0 ? Math.round((tally.on_time / tally.fired) * 1000) / 10 : null
  return (
    <Panel title={title} right={share === null ? undefined : t('{share} % on time', { share: number(share, 1) })} flush>
      <div className={classes.tally}>
        {rows.map(([state, count, name, to]) => (
          <Link key={state} to={to} data-state={state} data-none={count === 0 || undefined}>
            <span className={classes.count}>{number(count)}</span>
            <span className={classes.what}>{name}</span>
          </Link>
        ))}
      </div>
    </Panel>
  )
}

function NextHour() {
  const zone = useZone()
  const now = useNow()
  const asked = useQuery({ queryKey: ['upcoming'], queryFn: () => call('GET /upcoming', { query: { minutes: 60 } }), refetchInterval: 60_000 })
  return (
    <Panel title={t('The next 60 minutes')} right={asked.data ? tn('{count} firing', '{count} firings', asked.data.minutes.reduce((sum, each) => sum + each.firings, 0)) : undefined}>
      <Answer query={asked}>
        {(data) => {
          const most = data.minutes.reduce((best, each) => (each.firings > best.firings ? each : best), { at: data.start, firings: 0, jobs: 0 })
          return (
            <>
              <Bars
                label={t('Firings per minute; most at {time}: {count}', { time: shortly(new Date(most.at), zone, now), count: most.firings })}
                bars={data.minutes.map((each, index) => ({
                  key: each.at,
                  value: each.firings,
                  label: `${shortly(new Date(each.at), zone, now)} · ${tn('{count} firing', '{count} firings', each.firings)} · ${tn('{count} job', '{count} jobs', each.jobs)}`,
                  tick: index % 10 === 0 ? shortly(new Date(each.at), zone, now) : undefined,
                }))}
              />
              {data.estimated && <p className={classes.note}>{t('An estimate: there are too many jobs to work each one out.')}</p>}
            </>
          )
        }}
      </Answer>
    </Panel>
  )
}

const milliseconds = (value: number) => duration(value / 1000)

function Lateness({ data }: { data: Figures }) {
  const points = data.lateness
  const any = points.some((point) => point.fired > 0)
  return (
    <Panel title={t('Lateness, last hour')} right={<span>{t('from due to the start of the first try')} · <Time at={data.at} /></span>}>
      {any ? (
        <Chart
          label={t('Lateness over the last hour')}
          at={points.map((point) => point.at)}
          unit={milliseconds}
          lines={[
            { label: 'p99', values: points.map((point) => point.p99_ms), color: '--accent', fill: true },
            { label: 'p50', values: points.map((point) => point.p50_ms), color: '--info-mark' },
          ]}
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
          <Code>{"sexton jobs add hello --schedule 'every 10s' --handler sexton.log --payload '{\"n\":1}'"}</Code>
        </li>
        <li><strong>{t('See it fire')}</strong> {t('– it appears under Runs within ten seconds, without reloading.')}</li>
        <li><strong>{t('Ask why')}</strong> {t('– every occurrence has exactly one account:')}<Code>sexton why hello</Code></li>
      </ol>
    </Panel>
  )
}
