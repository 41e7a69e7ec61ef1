/** nominal → due → fired → claimed → started → finished, with the waits between them named. */
import type { RunDetail } from '@/api/schema'
import type { Wait } from '@/api/types'
import { t } from '@/i18n'
import { duration } from '@/parts/instant'
import { Time } from '@/parts/Time'
import classes from './Run.module.css'

type Detail = RunDetail & { waits?: Wait[]; due_at?: string | null }
interface Step {
  name: string
  title: string
  at: string | null
}
export interface Gap {
  seconds: number
  cause: string | null
}

const ORDER = ['scheduled', 'due', 'fired', 'claimed', 'started', 'finished'] as const

export function stepsOf(run: Detail): Step[] {
  const at: Record<string, string | null | undefined> = { scheduled: run.scheduled_at, due: run.due_at, fired: run.fired_at, claimed: run.claimed_at, started: run.started_at, finished: run.finished_at }
  const titles: Record<string, string> = { scheduled: t('Scheduled'), due: t('Due'), fired: t('Fired'), claimed: t('Claimed'), started: t('Started'), finished: t('Finished') }
  return ORDER.map((name) => ({ name, title: titles[name] ?? name, at: at[name] ?? null })).filter((step) => step.at !== null || step.name === 'scheduled')
}

/** What lies between two steps, in the words of the server if it has some. */
export function gapBetween(from: Step, to: Step, waits: Wait[]): Gap | null {
  if (!from.at || !to.at) return null
  const told = waits.find((wait) => wait.to === to.name)
  const seconds = told?.seconds ?? (new Date(to.at).getTime() - new Date(from.at).getTime()) / 1000
  return { seconds, cause: told?.cause ?? null }
}

export function Timeline({ run }: { run: Detail }) {
  const steps = stepsOf(run)
  return (
    <ol className={classes.timeline}>
      {steps.map((step, index) => {
        const before = steps[index - 1]
        const gap = before ? gapBetween(before, step, run.waits ?? []) : null
        return (
          <li key={step.name}>
            {gap && (
              <span className={classes.gap} data-long={gap.seconds >= 1 || undefined}>
                <span>{duration(gap.seconds)}</span>
                {gap.cause && <em>{gap.cause}</em>}
              </span>
            )}
            <span className={classes.step}>
              <span className={classes.dot} aria-hidden />
              <strong>{step.title}</strong>
              <Time at={step.at} show="clock" seconds />
            </span>
          </li>
        )
      })}
    </ol>
  )
}
