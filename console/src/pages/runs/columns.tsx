/** The columns of runs: also used on the page of a job. */
import type { ColumnDef } from '@tanstack/react-table'
import { Link } from 'react-router'
import type { RunView } from '@/api/schema'
import { t, tn } from '@/i18n'
import { toldBy } from '@/parts/error'
import { duration } from '@/parts/instant'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import { isLaterOnPurpose } from '../job/figures'
import classes from './Runs.module.css'

export function runKey(run: RunView): string {
  return run.run_id ?? `${run.job_id}-${run.scheduled_at}-${run.reason ?? ''}`
}

/** `zone`: that of the job, where all runs are of one. */
export function runColumns({ job = true, zone }: { job?: boolean; zone?: string | null | undefined } = {}): ColumnDef<RunView>[] {
  const columns: (ColumnDef<RunView> | null)[] = [
    {
      id: 'status',
      header: () => t('Status'),
      cell: ({ row: { original: run } }) => (
        <span className={classes.state}>
          <Status status={run.status} />
          {run.attempt > 1 && <span className="quiet num" title={tn('{count} try', '{count} tries', run.attempt)}>×{run.attempt}</span>}
        </span>
      ),
      meta: { width: job ? 124 : 116, narrow: 100 },
    },
    job
      ? {
          id: 'job',
          header: () => t('Job'),
          cell: ({ row: { original: run } }) => <Link to={`/jobs/${run.job_id}`} className="link" title={run.job_name ?? run.job_id}>{run.job_name ?? run.job_id}</Link>,
        }
      : null,
    {
      id: 'run',
      header: () => t('Run'),
      cell: ({ row: { original: run } }) => (
        <span className={classes.id}>
          {run.run_id ? <Link to={`/runs/${run.run_id}`} className="mono">{run.run_id}</Link> : <span>{run.occurrences && run.occurrences > 1 ? tn('{count} occurrence', '{count} occurrences', run.occurrences) : '–'}</span>}
          {run.trigger && run.trigger !== 'schedule' && <span className={classes.tag}>{t(run.trigger)}</span>}
        </span>
      ),
      meta: { hide: 'sm', width: job ? 138 : 102 },
    },
    { id: 'scheduled', header: () => t('Scheduled'), cell: ({ row: { original: run } }) => <Time at={run.scheduled_at} zone={zone} show="both" seconds />, meta: { width: job ? 212 : 206, narrow: 80 } },
    { id: 'late', header: () => t('Late by'), cell: ({ row: { original: run } }) => <span className={(run.late_seconds ?? 0) >= 1 && !isLaterOnPurpose(run) ? 'warn num' : 'quiet num'}>{duration(run.late_seconds)}</span>, meta: { align: 'right', hide: 'md', width: job ? 86 : 72 } },
    { id: 'took', header: () => t('Took'), cell: ({ row: { original: run } }) => <span className="num">{took(run)}</span>, meta: { align: 'right', hide: 'sm', width: job ? 82 : 70 } },
    {
      id: 'why',
      // Beside other panels the longer one does not fit.
      header: () => t(job ? 'What went wrong' : 'Reason'),
      cell: ({ row: { original: run } }) => <span className="quiet" title={run.error ?? run.reason ?? ''}>{whatOf(run)}</span>,
      meta: { hide: job ? 'lg' : 'md' },
    },
  ]
  return columns.filter((column) => column !== null)
}

function whatOf(run: RunView): string {
  if (run.error) return toldBy(run.error).title
  return run.reason ? t(run.reason) : ''
}

function took(run: RunView): string {
  if (!run.started_at || !run.finished_at) return '–'
  return duration((new Date(run.finished_at).getTime() - new Date(run.started_at).getTime()) / 1000)
}
