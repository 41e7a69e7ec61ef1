import { Button, SegmentedControl, Tabs } from '@mantine/core'
import { keepPreviousData, useInfiniteQuery, useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo, useState } from 'react'
import { Link } from 'react-router'
import { call, page } from '@/api/client'
import { writeExact } from '@/api/exact'
import type { JobChange, JobView, Preview, Why } from '@/api/schema'
import { useSession } from '@/frame/session'
import { currentLanguage, said, t, tn } from '@/i18n'
import { Chart } from '@/parts/Chart'
import { Code } from '@/parts/Copy'
import { DataTable } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { ExportMenu, saveRows } from '@/parts/ExportMenu'
import { duration } from '@/parts/instant'
import { MASK, masked } from '@/parts/Json'
import { Answer, Failure, Panel } from '@/parts/Page'
import { everyRow } from '@/parts/rows'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import { ClockChanges } from './ClockChanges'
import { differences } from './differences'
import { DiffTable } from './DiffTable'
import { asCommand, asCurl, asPython, asYaml, definitionOf, type Definition } from './texts'
import classes from './Job.module.css'

export function NextTen({ job, preview }: { job: JobView; preview: UseQueryResult<Preview> }) {
  if (job.status !== 'active' && job.status !== 'paused') return <Empty title={t('It fires no more')} />
  if (preview.error) return <Failure error={preview.error} />
  return (
    <Answer query={preview}>
      {(data) => (
        <>
          <ul className={classes.list}>
            {data.occurrences.map((each) => (
              <li key={each.scheduled_at + each.local} data-skipped={each.skipped ? true : undefined}>
                <span>
                  <span className={classes.when}><Time at={each.scheduled_at} zone={job.timezone} show="clock" seconds={!each.scheduled_at.endsWith(':00Z')} /></span>
                  {each.note && <span className={classes.note}>{each.note}</span>}
                  {each.skipped && !each.note && <span className={classes.note}>{t('skipped')}: {t(each.skipped)}</span>}
                </span>
                <span className="quiet"><Time at={each.scheduled_at} zone={job.timezone} /></span>
              </li>
            ))}
          </ul>
          {data.warnings?.map((warning) => <p key={warning} className={classes.note} style={{ padding: '0 14px 10px' }}>{said(warning)}</p>)}
          <ClockChanges changes={data.clock_changes ?? []} zone={job.timezone} />
        </>
      )}
    </Answer>
  )
}

/** Why an occurrence was skipped comes with a code: that is said in the language of the page. */
function accountOf(row: Pick<Why, 'disposition' | 'reason' | 'text'>): string {
  if (currentLanguage() === 'en' || row.disposition !== 'skipped' || !row.reason) return said(row.text)
  return t('skipped: {reason}', { reason: t(row.reason) })
}

const ACCOUNTED = 50
// The server explains so many at once; older ones stand among the runs, skipped ones with them.
const MOST_ACCOUNTED = 200

/** Each occurrence with its one disposition, and why. */
export function Accounting({ job }: { job: JobView }) {
  const [past, setPast] = useState(ACCOUNTED)
  const asked = useQuery({ queryKey: ['job-why', job.job_id, past], queryFn: () => call('GET /jobs/{job}/why', { path: { job: job.job_id }, query: { past, ahead: 5 } }), placeholderData: keepPreviousData })
  const all = (asked.data?.filter((row) => row.disposition !== 'upcoming').length ?? 0) < past
  const rows = useMemo(() => asked.data?.toReversed(), [asked.data])
  const columns = useMemo(() => accountColumns(job.timezone), [job.timezone])
  return (
    <DataTable<Why>
      name="job-why"
      label={t('Accounting')}
      title={t('Every occurrence has exactly one account')}
      columns={columns}
      whole={{ rows, error: asked.error, text: accountOf, values: { disposition: (row) => row.disposition } }}
      keyOf={(row) => row.scheduled_at + row.disposition + (row.run_id ?? '')}
      to={(row) => (row.run_id ? `/runs/${row.run_id}` : null)}
      filters={[
        { name: 'search', label: t('What became of it'), kind: 'text', width: 160 },
        { name: 'disposition', label: t('Account'), options: ['fired', 'skipped', 'upcoming'].map((value) => ({ value, label: t(value) })), width: 110 },
      ]}
      steady
      empty={<Empty title={t('No occurrence yet')} />}
      below={!all && (past < MOST_ACCOUNTED
        ? <Button variant="subtle" color="gray" loading={asked.isFetching} onClick={() => setPast(MOST_ACCOUNTED)}>{t('Show earlier ones')}</Button>
        : <Link to="?" className="link">{t('Earlier ones are among the runs')}</Link>)}
    />
  )
}

function accountColumns(zone: string | null | undefined): ColumnDef<Why>[] {
  return [
    { id: 'at', header: () => t('Occurrence'), cell: ({ row: { original: row } }) => <Time at={row.scheduled_at} zone={zone} show="clock" seconds />, meta: { sort: 'at', value: (row) => row.scheduled_at, width: 150, narrow: 84 } },
    { id: 'account', header: () => t('Account'), cell: ({ row: { original: row } }) => <Status status={row.status ?? row.disposition} />, meta: { sort: 'account', value: (row) => row.status ?? row.disposition, width: 108, narrow: 96 } },
    { id: 'text', header: () => t('What became of it'), cell: ({ row: { original: row } }) => <span className={classes.said}>{accountOf(row)}</span> },
  ]
}

const milliseconds = (value: number) => duration(value / 1000)

export function Trends({ job }: { job: JobView }) {
  const [hours, setHours] = useState('24')
  const asked = useQuery({ queryKey: ['job-stats', job.job_id, hours], queryFn: () => call('GET /jobs/{job}/stats', { path: { job: job.job_id }, query: { hours: Number(hours) } }) })
  const choice = <SegmentedControl aria-label={t('Range')} value={hours} onChange={setHours} data={[{ value: '1', label: t('1 h') }, { value: '24', label: t('1 d') }, { value: '168', label: t('7 d') }, { value: '720', label: t('30 d') }]} />
  return (
    <Panel title={t('Durations and lateness')} right={choice}>
      <Answer query={asked}>
        {({ points }) => points.some((point) => point.runs > 0) ? (
          <>
            <Chart label={t('Durations')} at={points.map((point) => point.at)} unit={milliseconds} lines={[{ label: t('took, p99'), values: points.map((point) => point.duration_p99_ms), color: '--accent', fill: true }, { label: t('took, p50'), values: points.map((point) => point.duration_p50_ms), color: '--info-mark', dash: [5, 3] }]} />
            <Chart label={t('Lateness')} at={points.map((point) => point.at)} unit={milliseconds} lines={[{ label: t('late, p99'), values: points.map((point) => point.late_p99_ms), color: '--warn-mark', fill: true }, { label: t('late, p50'), values: points.map((point) => point.late_p50_ms), color: '--idle-mark', dash: [5, 3] }]} />
          </>
        ) : <Empty title={t('Nothing ran in this time')} />}
      </Answer>
    </Panel>
  )
}

const TOGETHER = 50

export function Changes({ job }: { job: JobView }) {
  const read = (cursor: string | null, signal: AbortSignal) => page('GET /jobs/{job}/changes', { path: { job: job.job_id }, query: { limit: TOGETHER, cursor }, signal })
  const asked = useInfiniteQuery({ queryKey: ['job', job.job_id, 'changes'], queryFn: ({ pageParam, signal }) => read(pageParam, signal), initialPageParam: null as string | null, getNextPageParam: (last) => last.cursor })
  const rows = asked.data?.pages.flatMap((each) => each.items)
  const right = rows && rows.length > 0 && (
    <>
      <span className="num">{tn('{count} change', '{count} changes', rows.length)}{asked.hasNextPage ? '+' : ''}</span>
      <ExportMenu write={async (format) => saveRows((await everyRow(read)).items, t('Changes'), format)} />
    </>
  )
  return (
    <Panel title={t('Who changed it, and why')} right={right} flush>
      <Answer query={{ data: rows, error: asked.error }}>
        {(found) => found.length === 0 ? <Empty title={t('No change is recorded')} /> : found.map((row) => <Change key={row.entry_id} change={row} />)}
      </Answer>
      {asked.hasNextPage && <p className={classes.earlier}><Button variant="subtle" color="gray" loading={asked.isFetchingNextPage} onClick={() => void asked.fetchNextPage()}>{t('Show more')}</Button></p>}
    </Panel>
  )
}

function Change({ change }: { change: Pick<JobChange, 'at' | 'actor' | 'face' | 'action' | 'reason' | 'before' | 'after' | 'detail'> }) {
  const fields = differences(change.before, change.after)
  return (
    <div className={classes.change}>
      <header>
        <strong>{change.action}</strong>
        <span>{change.actor}</span>
        <span className="quiet">{t('by')} {change.face} · <Time at={change.at} show="both" /></span>
      </header>
      {change.reason && <p>“{change.reason}”</p>}
      {fields.length > 0 && <DiffTable fields={fields} />}
      {fields.length === 0 && change.detail != null && <code className="quiet">{writeExact(masked(change.detail), 0)}</code>}
    </div>
  )
}

/** The same job as curl, command line, Python and YAML. */
export function AsText({ job }: { job: JobView }) {
  const { namespace } = useSession()
  // As it is shown elsewhere on the page: a secret does not leave it in a command, either.
  const given = masked(definitionOf(job)) as Definition
  const forms: [string, string, string][] = [
    ['curl', 'curl', asCurl(given, location.origin, namespace)],
    ['cli', t('Command line'), asCommand(given, location.origin, namespace)],
    ['python', 'Python', asPython(given)],
    ['yaml', 'YAML', asYaml(given)],
  ]
  return (
    <Panel title={t('The same job as')}>
      <Tabs defaultValue="curl">
        <Tabs.List mb="xs">{forms.map(([value, name]) => <Tabs.Tab key={value} value={value}>{name}</Tabs.Tab>)}</Tabs.List>
        {forms.map(([value, , text]) => <Tabs.Panel key={value} value={value}><Code>{text}</Code></Tabs.Panel>)}
      </Tabs>
      {forms.some(([, , text]) => text.includes(MASK)) && <p className="quiet" style={{ marginTop: 8 }}>{t('{mask} stands for what sounds like a secret: write it in, or keep it as a secret of the namespace.', { mask: MASK })}</p>}
    </Panel>
  )
}
