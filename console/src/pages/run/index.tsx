import { Alert, Button, Progress } from '@mantine/core'
import { IconBan, IconRefresh, IconSkull } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { Link, useNavigate, useParams } from 'react-router'
import { call, callExact, newKey } from '@/api/client'
import type { Attempt, LogLine, RunDetail } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, said, t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { ErrorText } from '@/parts/ErrorText'
import { duration } from '@/parts/instant'
import { Json } from '@/parts/Json'
import { tell } from '@/parts/notify'
import { Columns, Facts, Page, PageOf, Panel, Stack } from '@/parts/Page'
import { useActing } from '@/parts/sending'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import { mergedLines } from './lines'
import { Timeline } from './Timeline'
import classes from './Run.module.css'

// Of what a run logs while its page is open, so many lines are kept: it may go on for days.
const MOST_LINES = 2000
/** With a run come so many lines of its log. */
const FIRST_LINES = 1000
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
          {run.cancel_requested_at && LIVE.has(run.status) && <Alert color="yellow" title={t('It is to be cancelled')}>{t('Its worker is told to stop')} · <Time at={run.cancel_requested_at} /></Alert>}
          {run.waiting_for && <Alert color="blue" title={t('Waiting')}>{said(run.waiting_for)}</Alert>}
          {run.error && run.status !== 'success' && <Alert color={run.status === 'dead' ? 'red' : run.status === 'cancelled' ? 'gray' : 'yellow'} title={run.reason ? `${t(run.status)}: ${t(run.reason)}` : run.status === 'cancelled' ? t(run.status) : t('What went wrong')}>{run.error !== run.status && <ErrorText text={run.error} />}</Alert>}
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
          {attempt.error && attempt.error !== attempt.outcome && <ErrorText text={attempt.error} />}
        </div>
      ))}
    </Panel>
  )
}

function Log({ id, first, live, going }: { id: string; first: LogLine[]; live: LogLine[]; going: boolean }) {
  const box = useRef<HTMLDivElement>(null)
  // Who scrolls up reads; who is at the end sees what comes.
  const atEnd = useRef(true)
  const { lines: loaded, more, busy, load } = useLoaded(id, first)
  const lines = useMemo(() => mergedLines(loaded, live), [loaded, live])
  const { length: count } = lines
  useEffect(() => {
    if (going && count && atEnd.current) box.current?.scrollTo({ top: box.current.scrollHeight })
  }, [count, going])
  const scrolled = () => {
    if (box.current) atEnd.current = box.current.scrollHeight - box.current.scrollTop - box.current.clientHeight < 24
  }
  const line = (each: LogLine, index: number) => (
    <div key={index} data-level={each.level.toLowerCase()}>
      <Time at={each.at} show="clock" seconds="ms" tabIndex={-1} /> <span>{each.level}</span> <span>{each.message}</span>
    </div>
  )
  return (
    <Panel title={t('Log')} right={<>{count > 0 && <span>{more ? t('{count} lines or more', { count: number(count) }) : tn('{count} line', '{count} lines', count)}</span>}{going && <span>{t('follows by itself')}</span>}</>} flush>
      {count === 0 ? (
        <p className={classes.none}>{t('It has written nothing.')}</p>
      ) : (
        <div ref={box} className={classes.log} tabIndex={0} role="log" aria-label={t('Log of {id}', { id })} onScroll={scrolled}>
          {lines.slice(0, loaded.length).map(line)}
          {more && <div className={classes.gap}><Button variant="default" loading={busy} onClick={() => void load()}>{t('Show more')}</Button></div>}
          {lines.slice(loaded.length).map((each, index) => line(each, loaded.length + index))}
        </div>
      )}
    </Panel>
  )
}

/** The lines that came with the run, and those after them as they are asked for: it comes with so many at the most. */
function useLoaded(id: string, first: LogLine[]) {
  const [rest, setRest] = useState<{ lines: LogLine[]; whole: boolean }>({ lines: [], whole: false })
  const [busy, act] = useActing()
  useEffect(() => setRest({ lines: [], whole: false }), [id])
  const lines = useMemo(() => [...first, ...rest.lines], [first, rest])
  const load = () => act(async () => {
    const last = lines.at(-1)
    if (!last) return
    const found = await call('GET /runs/{run}/log', { path: { run: id }, query: { after: last.at, limit: FIRST_LINES } })
    setRest(({ lines }) => ({ lines: [...lines, ...found], whole: found.length < FIRST_LINES }))
  })
  return { lines, more: first.length >= FIRST_LINES && !rest.whole, busy, load }
}

function Actions({ run }: { run: RunDetail }) {
  const session = useSession()
  const ask = useConfirm()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [busy, act] = useActing()
  // If the answer is lost, a second click makes no second run.
  const [key, setKey] = useState(newKey)
  if (!session.may('operator') || !run.run_id) return null
  const path = { run: run.run_id }
  const again = () => act(async () => {
    const made = await call('POST /runs/{run}/again', { path, body: {}, idempotencyKey: key })
    tell(t('A new run was made'))
    setKey(newKey())
    void navigate(`/runs/${made.run_id}`)
  })
  const cancel = () => ask({
    title: t('Cancel a run'),
    object: `${run.job_name ?? run.job_id} ${run.run_id}`,
    effect: `${run.attempt ? `${tn('It was tried {count} time', 'It was tried {count} times', run.attempt)}. ` : ''}${run.status === 'running' ? t('The worker is told to stop; what it has done is not undone. It is not tried again.') : t('It is not carried out.')}`,
    verb: t('Cancel'),
    destructive: true,
    act: async (reason) => {
      const { outcome } = await call('POST /runs/{run}/cancel', { path, body: { reason: reason ?? null }, reason })
      tell(outcome === 'requested' ? t('Its worker is told to stop') : t('It is cancelled'))
      await queries.invalidateQueries({ queryKey: ['run', run.run_id] })
    },
  })
  return (
    <>
      {run.status === 'dead' && <Button component={Link} to={`/dead/${run.run_id}`} leftSection={<IconSkull size={14} />}>{t('Dead letter')}</Button>}
      {!LIVE.has(run.status) && run.status !== 'skipped' && <Button variant="default" leftSection={<IconRefresh size={14} />} loading={busy} onClick={() => void again()}>{t('Run again')}</Button>}
      {LIVE.has(run.status) && !run.cancel_requested_at && <Button variant="default" leftSection={<IconBan size={14} />} onClick={cancel}>{t('Cancel')}</Button>}
    </>
  )
}
