import { Button } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay, IconPlus, IconRestore, IconTag, IconTrash } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import { Link, useSearchParams } from 'react-router'
import { address, listed, type Paged } from '@/api/client'
import type { JobRow } from '@/api/types'
import { useSession, useZones } from '@/frame/session'
import { t } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { DataTable, type Filter, type Filters } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { inZones, isUnset } from '@/parts/instant'
import { Page } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Strip } from '@/parts/Strip'
import { Time, useNow } from '@/parts/Time'
import { askForAll } from './bulk'
import classes from './Jobs.module.css'

function load(filters: Filters, cursor: string | null, signal: AbortSignal): Promise<Paged<JobRow[]>> {
  return listed('GET /jobs', asked(filters), cursor, signal) as Promise<Paged<JobRow[]>>
}

function asked(filters: Filters): Record<string, unknown> {
  return { limit: 100, expand: 'strip', ...filters }
}

const follow = (filters: Filters) => address('GET /jobs', {}, asked(filters))

export default function Jobs() {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  const [search] = useSearchParams()
  const columns = useMemo(makeColumns, [])
  const filters: Filter[] = [
    { name: 'search', label: t('Name, owner, description'), kind: 'text', width: 240 },
    {
      name: 'status',
      label: t('Status'),
      options: ['active', 'paused', 'completed', 'deleted'].map((value) => ({ value, label: t(value) })),
      width: 120,
    },
    { name: 'label', label: t('Label: name=value'), kind: 'text', width: 150 },
    { name: 'target', label: t('Target or handler'), kind: 'text', width: 150 },
    { name: 'problem', label: t('Problems'), options: [{ value: 'true', label: t('set aside') }], width: 110 },
  ]
  const after = () => queries.invalidateQueries({ queryKey: ['jobs'] })
  const deleted = search.get('status') === 'deleted'
  const bulk = [
    ...(session.may('operator') && !deleted
      ? ([
          ['pause', t('Pause'), <IconPlayerPause size={14} key="p" />],
          ['resume', t('Resume'), <IconPlayerPlay size={14} key="r" />],
          ['run', t('Run now'), <IconPlayerPlay size={14} key="n" />],
        ] as const)
      : []),
    ...(session.may('editor') && deleted ? ([['restore', t('Restore'), <IconRestore size={14} key="b" />]] as const) : []),
    ...(session.may('editor') && !deleted
      ? ([
          ['label', t('Label'), <IconTag size={14} key="l" />],
          ['delete', t('Delete'), <IconTrash size={14} key="d" />],
        ] as const)
      : []),
  ].map(([action, label, icon]) => ({ label, icon, act: (selection: Parameters<typeof askForAll>[2]) => void askForAll(ask, action, selection, after) }))
  const make = session.may('editor') && (
    <Button component={Link} to="/jobs/new" leftSection={<IconPlus size={14} />}>{t('New job')}</Button>
  )
  return (
    <Page title={t('Jobs')} actions={make}>
      <DataTable
        name="jobs"
        label={t('Jobs')}
        columns={columns}
        load={load}
        follow={follow}
        keyOf={(job) => job.job_id}
        to={(job) => `/jobs/${job.job_id}`}
        filters={filters}
        bulk={bulk}
        exported="/export/jobs"
        steady
        empty={
          <Empty title={t('No jobs yet')} action={make} command={"sexton jobs add hello --schedule 'every 10s' --handler sexton.log"}>
            {t('A job says what to do, and when. Make the first one here or on the command line:')}
          </Empty>
        }
      />
    </Page>
  )
}

function makeColumns(): ColumnDef<JobRow>[] {
  return [
    {
      id: 'name',
      header: () => t('Name'),
      cell: ({ row: { original: job } }) => (
        <div className={classes.name}>
          <Link to={`/jobs/${job.job_id}`} className="link clip" title={job.name}>{job.name}</Link>
          <span className={classes.under}>
            {Object.entries(job.labels ?? {}).slice(0, 2).map(([key, value]) => <span key={key} className={classes.label}>{value ? `${key}=${String(value)}` : key}</span>)}
            {job.queue && job.queue !== 'default' && <span className={classes.label}>{job.queue}</span>}
          </span>
          <span className={classes.small}><Strip items={job.strip} /></span>
        </div>
      ),
      meta: { sort: 'name' },
    },
    { id: 'status', header: () => t('Status'), cell: ({ row: { original: job } }) => <Status status={job.problem ? 'problem' : job.status} />, meta: { width: 100, hide: 'sm' } },
    {
      id: 'schedule',
      header: () => t('Schedule'),
      cell: ({ row: { original: job } }) => (
        <div className={classes.schedule}>
          <span className="clip" title={job.words ?? job.schedule}>{job.words ?? job.schedule}</span>
          {job.words && job.words !== job.schedule && <code className="clip" title={job.schedule}>{job.schedule}</code>}
        </div>
      ),
      meta: { hide: 'sm' },
    },
    { id: 'next', header: () => t('Next run'), cell: ({ row: { original: job } }) => <NextRun job={job} />, meta: { sort: 'next_run_at', oneWay: true, width: 228, narrow: 150 } },
    {
      id: 'last',
      header: () => t('Last outcome'),
      cell: ({ row: { original: job } }) => (job.last_outcome ? <span className={classes.last}><Status status={job.last_outcome} /> <span className="quiet"><Time at={job.last_run_at} zone={job.timezone} /></span></span> : <span className="quiet">–</span>),
      meta: { hide: 'lg', width: 202 },
    },
    { id: 'strip', header: () => t('Last runs'), cell: ({ row: { original: job } }) => <Strip items={job.strip} />, meta: { hide: 'sm', width: 108 } },
  ]
}

/** With a countdown, in the zone of the job and in that of the reader; each time names its zone. */
function NextRun({ job }: { job: JobRow }) {
  const now = useNow()
  const zones = useZones(job.timezone)
  if (!job.next_run_at) return <span className="quiet">{job.status === 'paused' ? <Status status="paused" /> : t('none')}</span>
  if (isUnset(job.next_run_at)) return <span className="quiet">{t('not set yet')}</span>
  const times = inZones(new Date(job.next_run_at), zones, now)
  return (
    <div className={classes.next}>
      <strong className="num"><Time at={job.next_run_at} zone={job.timezone} show="countdown" /></strong>
      <span className="quiet num clip" title={times}>{times.split(' · ').map((each, place) => <span key={each}>{place > 0 && ' · '}<span className="nowrap">{each}</span></span>)}</span>
    </div>
  )
}
