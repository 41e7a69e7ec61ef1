/** nominal → due → fired → claimed → started → finished, with the waits between them named. */
import type { RunDetail, RunWait } from '@/api/schema'
import { t } from '@/i18n'
import { duration } from '@/parts/instant'
import { Time } from '@/parts/Time'
import classes from './Run.module.css'

export interface Step {
  name: string
  at: string
  /** What lay before it. */
  wait: Pick<RunWait, 'seconds' | 'cause'> | null
}

/** The nominal time, and where each wait of the run ended. */
export function stepsOf(run: Pick<RunDetail, 'scheduled_at' | 'waits'>): Step[] {
  return [{ name: 'nominal', at: run.scheduled_at, wait: null }, ...run.waits.map((wait) => ({ name: wait.to, at: wait.at, wait }))]
}

function titleOf(name: string): string {
  return { nominal: t('Scheduled'), due: t('Due'), fired: t('Fired'), started: t('Started'), failed: t('Failed'), finished: t('Finished'), now: t('Now') }[name] ?? name
}

export function Timeline({ run }: { run: Pick<RunDetail, 'scheduled_at' | 'waits'> }) {
  return (
    <ol className={classes.timeline}>
      {stepsOf(run).map((step, index) => (
        <li key={index}>
          {step.wait && (
            <span className={classes.gap} data-long={step.wait.seconds >= 1 || undefined}>
              <span>{duration(step.wait.seconds)}</span>
              {step.wait.cause && <em>{step.wait.cause}</em>}
            </span>
          )}
          <span className={classes.step} data-name={step.name}>
            <span className={classes.dot} aria-hidden />
            <strong>{titleOf(step.name)}</strong>
            <Time at={step.at} show="clock" seconds />
          </span>
        </li>
      ))}
    </ol>
  )
}
