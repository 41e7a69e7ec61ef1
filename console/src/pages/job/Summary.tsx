/** What one wants to know of a job at first glance: when it fires next, how the last runs went, how long they take. */
import { Tooltip } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { page } from '@/api/client'
import type { JobView, RunView } from '@/api/schema'
import { useZone, useZones } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import { abbreviation, duration, inZones, isUnset, shortly, validZone } from '@/parts/instant'
import { Status, stateName, toneOf } from '@/parts/Status'
import { Time, useNow } from '@/parts/Time'
import { runKey } from '../runs/columns'
import { heightsOf, secondsOf, summaryOf } from './figures'
import classes from './Summary.module.css'

const RUNS = 50

export function Summary({ job }: { job: JobView }) {
  const asked = useQuery({
    queryKey: ['job-runs', 'summary', job.job_id],
    queryFn: ({ signal }) => page('GET /jobs/{job}/runs', { path: { job: job.job_id }, query: { include: 'skipped', limit: RUNS }, signal }),
  })
  const runs = asked.data?.items ?? []
  const found = summaryOf(runs)
  return (
    <section className={classes.summary} aria-label={t('At a glance')} aria-busy={asked.isPending}>
      <Next job={job} />
      <div className={classes.runs}>
        <span className={classes.name}>{runs.length ? tn('Last {count} run', 'Last {count} runs', runs.length) : t('Last runs')}</span>
        {runs.length > 0 ? <Marks runs={runs.toReversed()} zone={job.timezone} /> : <span className="quiet">{asked.isPending ? ' ' : t('It has not run yet')}</span>}
        <span className={classes.detail}>{runs.length > 0 && t('higher: took longer')}</span>
      </div>
      <Cell name={t('Succeeded')} value={found.rate === null ? '–' : `${number(found.rate * 100, found.rate === 1 ? 0 : 1)} %`} bad={found.rate !== null && found.rate < 0.9} detail={found.rate === null ? t('none has ended') : t('{good} of {all}', { good: found.succeeded, all: found.runs })} />
      <Cell name={t('Took, p50')} value={duration(found.p50)} detail={`p95 ${duration(found.p95)}`} />
      <Cell name={t('Late, p95')} value={duration(found.late95)} bad={(found.late95 ?? 0) >= 1} detail={t('due to start')} />
    </section>
  )
}

function Cell({ name, value, detail, bad = false }: { name: string; value: string; detail: string; bad?: boolean }) {
  return (
    <div className={classes.cell} data-bad={bad || undefined}>
      <span className={classes.name}>{name}</span>
      <span className={classes.value}>{value}</span>
      <span className={classes.detail}>{detail}</span>
    </div>
  )
}

/** The next firing, counted down, on the clock of the job and on that of the reader. */
function Next({ job }: { job: JobView }) {
  const now = useNow()
  const zones = useZones(job.timezone)
  return (
    <div className={classes.cell}>
      <span className={classes.name}>{t('Next run')}</span>
      {job.next_run_at && !isUnset(job.next_run_at) ? (
        <>
          <span className={classes.value}><Time at={job.next_run_at} zone={job.timezone} show="countdown" /></span>
          <span className={classes.detail}>
            {inZones(new Date(job.next_run_at), zones, now)}
          </span>
        </>
      ) : (
        <>
          <span className={classes.value}>–</span>
          <span className={classes.detail}>{job.status === 'paused' ? <Status status="paused" /> : job.next_run_at ? t('not set yet') : t('It fires no more')}</span>
        </>
      )}
    </div>
  )
}

/** A mark for each run, the newest on the right; one that failed has a notch, one that runs is hollow, one that will be tried again is striped, one that was skipped is low. */
function Marks({ runs, zone }: { runs: RunView[]; zone: string | null | undefined }) {
  const now = useNow()
  const shown = validZone(useZone(zone))
  const heights = heightsOf(runs.map((run) => secondsOf(run)))
  const failed = runs.filter((run) => toneOf(run.status) === 'bad').length
  return (
    <span className={classes.marks} role="group" aria-label={`${tn('last {count} run', 'last {count} runs', runs.length)}, ${tn('{count} failed', '{count} failed', failed)}`}>
      {runs.map((run, index) => {
        const label = `${stateName(run.status)}${run.reason ? `: ${t(run.reason)}` : ''} · ${shortly(new Date(run.scheduled_at), shown, now, true)} ${abbreviation(shown, new Date(run.scheduled_at))} · ${duration(secondsOf(run))}`
        const mark = <i data-tone={toneOf(run.status)} style={{ height: `${heights[index] ?? 30}%` }} />
        return (
          <Tooltip key={runKey(run)} label={label} openDelay={0}>
            {run.run_id ? <Link to={`/runs/${run.run_id}`} aria-label={label} tabIndex={-1}>{mark}</Link> : <span>{mark}</span>}
          </Tooltip>
        )
      })}
    </span>
  )
}
