import { Alert, Button, Menu, Tabs } from '@mantine/core'
import { IconAlertTriangle, IconChevronDown, IconCopyPlus, IconHistory, IconPencil, IconPlayerPause, IconPlayerPlay, IconPlayerSkipForward, IconRestore, IconTrash } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useState, type ReactNode } from 'react'
import { Link, useNavigate, useParams, useSearchParams } from 'react-router'
import { call, callExact, page } from '@/api/client'
import type { JobView, RunView } from '@/api/schema'
import { useSession, useZone } from '@/frame/session'
import { said, t, tn } from '@/i18n'
import { quoted } from '@/parts/command'
import { useConfirm } from '@/parts/Confirm'
import { DataTable, type Filters } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { duration } from '@/parts/instant'
import { Json } from '@/parts/Json'
import { tell, tellUndo } from '@/parts/notify'
import { Columns, Facts, Page, PageOf, Panel, Stack } from '@/parts/Page'
import { useActing } from '@/parts/sending'
import { Status } from '@/parts/Status'
import { tabOf } from '@/parts/tab'
import { showChosen } from '@/parts/tabs'
import { Time } from '@/parts/Time'
import { STATES, TRIGGERS, useRunActions } from '../runs/bulk'
import { runColumns, runKey } from '../runs/columns'
import { Backfill, PauseUntil } from './dialogs'
import { Summary } from './Summary'
import { Accounting, AsText, Changes, NextTen, Trends } from './tabs'
import classes from './Job.module.css'

const TABS = ['runs', 'accounting', 'trends', 'changes', 'definition'] as const

export default function Job() {
  const { job: ref = '' } = useParams()
  const [search, setSearch] = useSearchParams()
  const { feed } = useSession()
  const asked = useQuery({ queryKey: ['job', ref], queryFn: () => callExact('GET /jobs/{job}', { path: { job: ref } }) })
  const words = useQuery({ queryKey: ['job', ref, 'preview'], queryFn: () => call('GET /jobs/{job}/preview', { path: { job: ref }, query: { count: 10 } }), retry: false })
  const id = asked.data?.job_id
  useEffect(() => {
    if (id) feed.look({ job: id })
    return () => feed.look({})
  }, [feed, id])
  const tab = tabOf(TABS, search.get('tab'))
  const zone = useZone(asked.data?.timezone)
  return (
    <PageOf query={asked} list={{ to: '/jobs', name: t('Jobs') }}>
      {(job) => (
        <Page
          title={job.name}
          mark={<Status status={job.problem ? 'problem' : job.status} />}
          crumbs={[{ to: '/jobs', name: t('Jobs') }]}
          about={[words.data?.explanation ?? [job.schedule, job.timezone].filter(Boolean).join(', '), job.description].filter(Boolean).join(' — ')}
          actions={<Actions job={job} />}
        >
          {job.problem && <Alert color="red" icon={<IconAlertTriangle size={18} />}>{said(job.problem)}</Alert>}
          {job.warnings?.map((warning) => <Alert key={warning} color="yellow" icon={<IconAlertTriangle size={18} />}>{said(warning)}</Alert>)}
          {job.status === 'paused' && (
            <Alert color="yellow" icon={<IconPlayerPause size={18} />}><p>{t('Paused')}{job.paused_reason ? `: ${job.paused_reason}` : ''}{job.paused_until ? <> · {t('goes on')} <Time at={job.paused_until} zone={job.timezone} show="both" /></> : ''}</p></Alert>
          )}
          <Summary job={job} />
          <Columns side>
            <Stack>
              <Tabs value={tab} onChange={(value) => setSearch(value && value !== 'runs' ? { tab: value } : {}, { replace: true })} keepMounted={false}>
                <Tabs.List mb="sm" ref={showChosen}>
                  {TABS.map((name) => <Tabs.Tab key={name} value={name}>{t(TITLES[name])}</Tabs.Tab>)}
                </Tabs.List>
                <Tabs.Panel value="runs"><JobRuns job={job} /></Tabs.Panel>
                <Tabs.Panel value="accounting"><Accounting job={job} /></Tabs.Panel>
                <Tabs.Panel value="trends"><Trends job={job} /></Tabs.Panel>
                <Tabs.Panel value="changes"><Changes job={job} /></Tabs.Panel>
                <Tabs.Panel value="definition"><Definition job={job} /></Tabs.Panel>
              </Tabs>
            </Stack>
            <Stack>
              <Panel title={t('Next ten')} right={<span className="quiet">{zone}</span>} flush><NextTen job={job} preview={words} /></Panel>
              <Panel title={t('Facts')}>
                <Facts
                  items={[
                    [t('Last outcome'), job.last_outcome && <span key="o" className={classes.outcome}><Status status={job.last_outcome} /> <Time at={job.last_run_at} zone={job.timezone} /></span>],
                    [t('Queue'), <Link key="q" to={`/queues?queue=${encodeURIComponent(job.queue ?? 'default')}`} className="link">{job.queue ?? 'default'}</Link>],
                    [t('Target'), <code key="t">{targetText(job)}</code>],
                    [t('Owner'), job.owner],
                    [t('App'), job.app],
                    [t('Id'), <code key="i">{job.job_id}</code>],
                    [t('Revision'), job.revision],
                    [t('Made'), <Time key="c" at={job.created_at} />],
                    [t('Changed'), <Time key="u" at={job.updated_at} />],
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

const TITLES: Record<(typeof TABS)[number], string> = { runs: 'Runs', accounting: 'Accounting', trends: 'Durations and lateness', changes: 'Changes', definition: 'Definition' }

function targetText(job: Pick<JobView, 'target'>): string {
  const [kind, value] = Object.entries(job.target ?? {})[0] ?? ['', '']
  if (kind === 'handler') return String(value)
  const place = value as { url?: unknown; topic?: string; task?: string; method?: string }
  return [kind, place.method, typeof place.url === 'string' ? place.url : (place.topic ?? place.task)].filter(Boolean).join(' ')
}

function JobRuns({ job }: { job: JobView }) {
  const queries = useQueryClient()
  const columns = useMemo(() => runColumns({ job: false, zone: job.timezone }), [job.timezone])
  const load = ({ job: _, ...filters }: Filters, cursor: string | null, signal: AbortSignal) => page('GET /jobs/{job}/runs', { path: { job: job.job_id }, query: { limit: 50, cursor, ...filters } as never, signal })
  const bulk = useRunActions(() => queries.invalidateQueries({ queryKey: ['job-runs'] }))
  return (
    <DataTable<RunView>
      name="job-runs"
      label={t('Runs of this job')}
      columns={columns}
      load={load}
      // So that the rows of one job are never taken for those of another.
      fixed={{ job: job.job_id, include: 'skipped' }}
      keyOf={runKey}
      to={(run) => (run.run_id ? `/runs/${run.run_id}` : null)}
      filters={[
        { name: 'status', label: t('Status'), options: STATES.map((value) => ({ value, label: t(value) })) },
        { name: 'trigger', label: t('Trigger'), options: TRIGGERS.map((value) => ({ value, label: t(value) })) },
      ]}
      bulk={bulk}
      exported="/export/runs"
      short
      steady
      empty={<Empty title={t('It has not run yet')} command={`sexton jobs run ${quoted(job.name)}`}>{t('It runs at its next occurrence, or now:')}</Empty>}
    />
  )
}

function Definition({ job }: { job: JobView }) {
  const policies: [string, unknown][] = [
    [t('Missed times'), job.missed_window], [t('Overlap'), job.overlap], [t('Grace'), duration(job.grace_seconds)], [t('Catch-up limit'), job.catch_up_seconds == null ? null : duration(job.catch_up_seconds)],
    [t('Jitter'), job.jitter_seconds ? duration(job.jitter_seconds) : null], [t('Expires after'), job.expires_seconds ? duration(job.expires_seconds) : null],
    [t('Retries'), job.max_retries], [t('Back-off'), `${job.retry_backoff} ${duration(job.retry_base_seconds)}–${duration(job.retry_max_seconds)}`], [t('Timeout'), duration(job.timeout_seconds)],
    [t('Priority'), job.priority], [t('Clock goes forward'), job.gap], [t('Clock goes back'), job.fold], [t('Starts'), job.starts_at && <Time at={job.starts_at} zone={job.timezone} show="both" />], [t('Ends'), job.ends_at && <Time at={job.ends_at} zone={job.timezone} show="both" />], [t('At most runs'), job.max_runs],
    [t('Concurrency key'), job.concurrency_key], [t('Excluded days'), job.exclude?.length ? job.exclude.join(', ') : null],
  ]
  return (
    <Stack>
      <Panel title={t('Policies')} right={t('what is not named is as usual')}><Facts items={policies.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => [name, value as ReactNode])} /></Panel>
      <Panel title={t('Target')}><Json value={job.target} /></Panel>
      <Panel title={t('Payload')}><Json value={job.payload} /></Panel>
      <AsText job={job} />
    </Stack>
  )
}

function Actions({ job }: { job: JobView }) {
  const session = useSession()
  const ask = useConfirm()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [dialog, setDialog] = useState<'backfill' | 'pause' | null>(null)
  const refresh = () => queries.invalidateQueries({ predicate: ({ queryKey: [first] }) => ['job', 'jobs', 'job-runs', 'job-why'].includes(String(first)) })
  const path = { job: job.job_id }
  const [busy, act] = useActing()
  const runNow = () => act(async () => {
    const made = await call('POST /jobs/{job}/run', { path, body: {} })
    tell(t('{name} runs now', { name: job.name }))
    void refresh()
    void navigate(`/runs/${made.run_id}`)
  })
  const resume = () => act(async () => {
    await call('POST /jobs/{job}/resume', { path })
    tellUndo(t('{name} goes on', { name: job.name }), async () => { await call('POST /jobs/{job}/pause', { path, body: { reason: job.paused_reason ?? null, until: job.paused_until ?? null } }); await refresh() })
    await refresh()
  })
  const next = job.next_run_at
  const skip = () => act(async () => {
    await call('POST /jobs/{job}/skip-next', { path, body: { at: next } })
    tellUndo(t('The next time is left out'), async () => { await call('POST /jobs/{job}/reschedule', { path, body: { at: next ?? '' } }); await refresh() })
    await refresh()
  })
  const restore = async () => { await call('POST /jobs/{job}/restore', { path }); await refresh() }
  const remove = () => act(async () => {
    const counts = await call('GET /runs/counts', { query: { job: job.job_id } })
    ask({
      title: t('Delete a job'),
      object: job.name,
      effect: (
        <>
          {t('It fires no more and its name becomes free.')} {tn('{count} waiting run is cancelled', '{count} waiting runs are cancelled', counts.pending + counts.failed + counts.waiting)}, {tn('{count} running one finishes', '{count} running ones finish', counts.running)}. {t('Its history stays, and it can be restored for as long as it does.')}
        </>
      ),
      verb: t('Delete'),
      destructive: true,
      undoable: true,
      reason: 'required',
      act: async (reason) => {
        await call('DELETE /jobs/{job}', { path, reason })
        tellUndo(t('{name} is deleted', { name: job.name }), restore)
        void navigate('/jobs')
        await refresh()
      },
    })
  })
  const live = job.status === 'active' || job.status === 'paused'
  return (
    <>
      {session.may('operator') && live && <Button leftSection={<IconPlayerPlay size={14} />} loading={busy} onClick={() => void runNow()}>{t('Run now')}</Button>}
      {session.may('operator') && job.status === 'paused' && <Button variant="default" leftSection={<IconPlayerPlay size={14} />} loading={busy} onClick={() => void resume()}>{t('Resume')}</Button>}
      {session.may('operator') && job.status === 'active' && <Button variant="default" leftSection={<IconPlayerPause size={14} />} onClick={() => setDialog('pause')}>{t('Pause')}</Button>}
      {session.may('editor') && live && <Button variant="default" component={Link} to={`/jobs/${job.job_id}/edit`} leftSection={<IconPencil size={14} />}>{t('Edit')}</Button>}
      {session.may('editor') && job.status === 'deleted' && <Button leftSection={<IconRestore size={14} />} loading={busy} onClick={() => void act(async () => { await restore(); tell(t('{name} is restored', { name: job.name })) })}>{t('Restore')}</Button>}
      {session.may(job.status === 'deleted' ? 'editor' : 'operator') && (
        <Menu position="bottom-end">
          <Menu.Target><Button variant="default" rightSection={<IconChevronDown size={14} />}>{t('More')}</Button></Menu.Target>
          <Menu.Dropdown>
            {live && next && <Menu.Item leftSection={<IconPlayerSkipForward size={14} />} onClick={() => void skip()}>{t('Skip the next')}</Menu.Item>}
            {job.status !== 'deleted' && <Menu.Item leftSection={<IconHistory size={14} />} onClick={() => setDialog('backfill')}>{t('Backfill')}</Menu.Item>}
            {session.may('editor') && <Menu.Item leftSection={<IconCopyPlus size={14} />} component={Link} to={`/jobs/new?clone=${job.job_id}`}>{t('Clone')}</Menu.Item>}
            {session.may('editor') && live && <Menu.Item color="red" leftSection={<IconTrash size={14} />} onClick={() => void remove()}>{t('Delete')}</Menu.Item>}
          </Menu.Dropdown>
        </Menu>
      )}
      {dialog === 'pause' && <PauseUntil job={job} close={() => setDialog(null)} done={refresh} />}
      {dialog === 'backfill' && <Backfill job={job} close={() => setDialog(null)} done={refresh} />}
    </>
  )
}
