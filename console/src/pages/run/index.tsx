import { Alert, Button, Progress } from '@mantine/core'
import { IconBan, IconRefresh, IconSkull } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Link, useNavigate, useParams } from 'react-router'
import { call, callExact } from '@/api/client'
import type { Attempt, LogLine, RunDetail } from '@/api/schema'
import { useSession } from '@/frame/session'
import { said, t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { ErrorText } from '@/parts/ErrorText'
import { duration } from '@/parts/instant'
import { Json } from '@/parts/Json'
import { tell } from '@/parts/notify'
import { Columns, Facts, Page, PageOf, Panel, Stack } from '@/parts/Page'
import { useActing } from '@/parts/sending'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import { Timeline } from './Timeline'
import classes from './Run.module.css'

// Of what a run logs while its page is open, so many lines are kept: it may go on for days.
const MOST_LINES = 2000
// As many as come with a run.
const LINES_AT_ONCE = 1000
const LIVE = new Set(['pending', 'running', 'failed', 'waiting'])

export default function Run() {
  const { run: id = '' } = useParams()
  const { feed } = useSession()
  const asked = useQuery({
    queryKey: ['run', id],
    queryFn: () => callExact('GET /runs/{run}', { path: { run: id } }),
    // A run that goes on is asked for again even if the stream is away.
    refetchInterval: ({ state }) => (state.data && LIVE.has(state.data.status) ? 5000 : false),
  })
  const [lines, setLines] = useState<LogLine[]>([])
  const queries = useQueryClient()
  useEffect(() => {
    setLines([])
    feed.look({ run: id })
    const stop = feed.listen((event) => {
      if (event.name === 'log') {
        const line = JSON.parse(event.data) as LogLine
        setLines((before) => [...before, line].slice(-MOST_LINES))
      } else if (event.name === 'progress') void queries.invalidateQueries({ queryKey: ['run', id] })
    })
    return () => {
      stop()
      feed.look({})
    }
  }, [feed, id, queries])
  return (
    <PageOf query={asked} list={{ to: '/runs', name: t('Runs') }}>
      {(run) => (
        <Page
          title={run.job_name ?? run.job_id}
          mark={<><Status status={run.status} /><code className="quiet">{run.run_id}</code></>}
          crumbs={[{ to: '/runs', name: t('Runs') }, { to: `/jobs/${run.job_id}`, name: run.job_name ?? run.job_id }]}
          about={<>{t('Scheduled for')} <Time at={run.scheduled_at} show="both" seconds />{run.trigger ? ` · ${t(run.trigger)}` : ''}{run.missed ? ` · ${t('its time was missed')}` : ''}</>}
          actions={<Actions run={run} />}
        >
          {run.waiting_for && <Alert color="blue" title={t('Waiting')}>{said(run.waiting_for)}</Alert>}
          {run.error && run.status !== 'success' && <Alert color={run.status === 'dead' ? 'red' : 'yellow'} title={run.reason ? `${t(run.status)}: ${t(run.reason)}` : t('What went wrong')}><ErrorText text={run.error} /></Alert>}
          <Panel title={t('What happened when')}><Timeline run={run} /></Panel>
          <Columns side>
            <Stack>
              <Attempts attempts={run.attempts ?? []} />
              <Log key={id} id={id} first={run.log ?? []} live={lines} going={LIVE.has(run.status)} />
            </Stack>
            <Stack>
              {isProgress(run.progress) && (
                <Panel title={t('Progress')}>
                  <Progress value={run.progress.fraction * 100} aria-label={t('Progress')} />
                  <p className="quiet" style={{ marginTop: 6 }}>{Math.round(run.progress.fraction * 100)} % {run.progress.text}</p>
                </Panel>
              )}
              <Panel title={t('Payload')}><Json value={run.payload} /></Panel>
              <Panel title={t('Result')}><Json value={run.result} /></Panel>
              <Panel title={t('Facts')}>
                <Facts
                  items={[
                    [t('Late by'), duration(run.late_seconds)],
                    [t('Tries'), run.attempt],
                    [t('Worker'), run.worker_id && <code key="w">{run.worker_id}</code>],
                    [t('Idempotency key'), run.idempotency_key && <code key="k">{run.idempotency_key}</code>],
                    [t('Revision'), run.revision],
                    [t('Redrive of'), run.parent_run && <Link key="p" to={`/runs/${run.parent_run}`} className="link">{run.parent_run}</Link>],
                    ...(run.expires_at ? ([[t('Expires'), <Time key="e" at={run.expires_at} show="both" />]] as [string, React.ReactNode][]) : []),
                    ...(run.deadline_at ? ([[t('Deadline'), <Time key="d" at={run.deadline_at} show="both" />]] as [string, React.ReactNode][]) : []),
                  ]}
                />
              </Panel>
            </Stack>
          </Columns>
        </Page>
      )}
    </PageOf>
  )
}

function isProgress(value: unknown): value is { fraction: number; text?: string } {
  return typeof value === 'object' && value !== null && typeof (value as { fraction?: unknown }).fraction === 'number'
}

function Attempts({ attempts }: { attempts: Attempt[] }) {
  return (
    <Panel title={tn('{count} try', '{count} tries', new Set(attempts.map((each) => each.attempt)).size)} flush>
      {attempts.length === 0 && <p className={classes.none}>{t('It has not been tried yet.')}</p>}
      {attempts.map((attempt, index) => (
        <div key={index} className={classes.attempt}>
          <header>
            <strong>{t('Try {number}', { number: attempt.attempt })}</strong>
            <Status status={attempt.outcome} />
            <span className="quiet"><Time at={attempt.started_at} show="clock" seconds="ms" />{attempt.started_at && attempt.finished_at ? ` · ${duration((new Date(attempt.finished_at).getTime() - new Date(attempt.started_at).getTime()) / 1000)}` : ''}{attempt.worker_id ? ` · ${attempt.worker_id}` : ''}</span>
          </header>
          {attempt.error && <ErrorText text={attempt.error} />}
        </div>
      ))}
    </Panel>
  )
}

function Log({ id, first, live, going }: { id: string; first: LogLine[]; live: LogLine[]; going: boolean }) {
  const box = useRef<HTMLDivElement>(null)
  // Whoever has scrolled up reads there.
  const follows = useRef(true)
  const [later, setLater] = useState<LogLine[]>([])
  const [busy, act] = useActing()
  const begun = [...first, ...later]
  const known = new Set(begun.map((line) => line.at + line.message))
  const latest = live.filter((line) => !known.has(line.at + line.message))
  const count = begun.length + latest.length
  const end = (latest.at(-1) ?? begun.at(-1))?.at
  // As many as the server gives at once: there may be more after them, before those that came while the page was open.
  const more = begun.length > 0 && begun.length % LINES_AT_ONCE === 0
  const load = () => act(async () => {
    follows.current = false
    setLater([...later, ...(await call('GET /runs/{run}/log', { path: { run: id }, query: { after: begun.at(-1)?.at ?? null, limit: LINES_AT_ONCE } }))])
  })
  useEffect(() => {
    if (going && count && follows.current) box.current?.scrollTo({ top: box.current.scrollHeight })
  }, [count, end, going])
  return (
    <Panel title={t('Log')} right={going ? t('follows by itself') : undefined} flush>
      {count === 0 ? (
        <p className={classes.none}>{t('It has written nothing.')}</p>
      ) : (
        <div ref={box} className={classes.log} tabIndex={0} role="log" aria-label={t('Log of {id}', { id })} onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => { follows.current = scrollHeight - scrollTop - clientHeight < 40 }}>
          {begun.map((line, index) => <Line key={index} line={line} />)}
          {more && <Button variant="subtle" size="compact-sm" loading={busy} onClick={() => void load()}>{t('Show the next lines')}</Button>}
          {latest.map((line, index) => <Line key={index} line={line} />)}
        </div>
      )}
    </Panel>
  )
}

function Line({ line }: { line: LogLine }) {
  return (
    <div data-level={line.level.toLowerCase()}>
      <Time at={line.at} show="clock" seconds="ms" tabIndex={-1} /> <span>{line.level}</span> <span>{line.message}</span>
    </div>
  )
}

function Actions({ run }: { run: RunDetail }) {
  const session = useSession()
  const ask = useConfirm()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [busy, act] = useActing()
  if (!session.may('operator') || !run.run_id) return null
  const path = { run: run.run_id }
  const again = () => act(async () => {
    const made = await call('POST /runs/{run}/again', { path, body: {} })
    tell(t('A new run was made'))
    void navigate(`/runs/${made.run_id}`)
  })
  const cancel = () => ask({
    title: t('Cancel a run'),
    object: `${run.job_name ?? run.job_id} ${run.run_id}`,
    effect: `${run.attempt ? `${tn('It was tried {count} time', 'It was tried {count} times', run.attempt)}. ` : ''}${run.status === 'running' ? t('The worker is told to stop; what it has done is not undone. It is not tried again.') : t('It is not carried out.')}`,
    verb: t('Cancel'),
    destructive: true,
    act: async (reason) => {
      await call('POST /runs/{run}/cancel', { path, body: { reason: reason ?? null }, reason })
      await queries.invalidateQueries({ queryKey: ['run', run.run_id] })
    },
  })
  return (
    <>
      {run.status === 'dead' && <Button component={Link} to={`/dead/${run.run_id}`} leftSection={<IconSkull size={14} />}>{t('Dead letter')}</Button>}
      {!LIVE.has(run.status) && run.status !== 'skipped' && <Button variant="default" leftSection={<IconRefresh size={14} />} loading={busy} onClick={() => void again()}>{t('Run again')}</Button>}
      {LIVE.has(run.status) && <Button variant="default" leftSection={<IconBan size={14} />} onClick={cancel}>{t('Cancel')}</Button>}
    </>
  )
}
