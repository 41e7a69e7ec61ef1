/** The columns of runs: also used on the page of a job. */
import type { ColumnDef } from '@tanstack/react-table'
import { Link } from 'react-router'
import type { RunView } from '@/api/schema'
import { t, tn } from '@/i18n'
import { duration } from '@/parts/instant'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'

export function runKey(run: RunView): string {
  return run.run_id ?? `${run.job_id}-${run.scheduled_at}-${run.reason ?? ''}`
}

export function runColumns({ job = true }: { job?: boolean } = {}): ColumnDef<RunView>[] {
  const columns: (ColumnDef<RunView> | null)[] = [
    { id: 'status', header: () => t('Status'), cell: ({ row: { original: run } }) => <Status status={run.status} />, meta: { width: 110 } },
    job
      ? {
          id: 'job',
          header: () => t('Job'),
          cell: ({ row: { original: run } }) => <Link to={`/jobs/${run.job_id}`} className="link clip" style={{ display: 'block', maxWidth: 300 }}>{run.job_name ?? run.job_id}</Link>,
        }
      : null,
    {
      id: 'run',
      header: () => t('Run'),
      cell: ({ row: { original: run } }) => (run.run_id ? <Link to={`/runs/${run.run_id}`} className="mono quiet nowrap">{run.run_id}</Link> : <span className="quiet">{run.occurrences && run.occurrences > 1 ? tn('{count} occurrence', '{count} occurrences', run.occurrences) : '–'}</span>),
      meta: { hide: 'sm' },
    },
    { id: 'scheduled', header: () => t('Scheduled'), cell: ({ row: { original: run } }) => <Time at={run.scheduled_at} show="both" seconds /> },
    { id: 'late', header: () => t('Late by'), cell: ({ row: { original: run } }) => <span className={(run.late_seconds ?? 0) >= 1 ? 'warn num' : 'quiet num'}>{duration(run.late_seconds)}</span>, meta: { align: 'right', hide: 'md', width: 80 } },
    { id: 'took', header: () => t('Took'), cell: ({ row: { original: run } }) => <span className="num">{took(run)}</span>, meta: { align: 'right', hide: 'sm', width: 80 } },
    { id: 'attempt', header: () => t('Tries'), cell: ({ row: { original: run } }) => <span className="num">{run.attempt || '–'}</span>, meta: { align: 'right', hide: 'md', width: 60 } },
    { id: 'trigger', header: () => t('By'), cell: ({ row: { original: run } }) => <span className="quiet">{run.trigger ? t(run.trigger) : '–'}</span>, meta: { hide: 'md', width: 90 } },
    {
      id: 'why',
      header: () => t('What went wrong'),
      cell: ({ row: { original: run } }) => <span className="clip quiet" style={{ display: 'block', maxWidth: 340 }} title={run.error ?? run.reason ?? ''}>{run.error ?? run.reason ?? ''}</span>,
      meta: { hide: 'lg' },
    },
  ]
  return columns.filter((column) => column !== null)
}

function took(run: RunView): string {
  if (!run.started_at || !run.finished_at) return '–'
  return duration((new Date(run.finished_at).getTime() - new Date(run.started_at).getTime()) / 1000)
}
