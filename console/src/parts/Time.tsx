/** An instant: relative, exact on hover with its zone, and one click copies it as ISO 8601. */
import { Tooltip, UnstyledButton } from '@mantine/core'
import { useEffect, useState, useSyncExternalStore, type ReactNode } from 'react'
import { useZone } from '@/frame/session'
import { t } from '@/i18n'
import { copy } from './Copy'
import { countdown, exactly, relative, shortly, validZone } from './instant'
import { tellFailure } from './notify'
import classes from './Time.module.css'

/** One timer for all times of the page. */
const ticks = {
  now: new Date(),
  watchers: new Set<() => void>(),
  timer: undefined as ReturnType<typeof setInterval> | undefined,
}

function watch(watcher: () => void): () => void {
  ticks.watchers.add(watcher)
  if (ticks.timer === undefined) {
    // No time was shown until now.
    ticks.now = new Date()
    ticks.timer = setInterval(() => {
      ticks.now = new Date()
      for (const each of ticks.watchers) each()
    }, 1000)
  }
  return () => {
    ticks.watchers.delete(watcher)
    if (ticks.watchers.size === 0) {
      clearInterval(ticks.timer)
      ticks.timer = undefined
    }
  }
}

export function useNow(): Date {
  return useSyncExternalStore(watch, () => ticks.now)
}

interface Props {
  at: string | null | undefined
  /** The zone of the job, if it has one. */
  zone?: string | null | undefined
  /** relative: “3 min ago”; clock: “14:05”; countdown: “4:05”; both: the clock and the relative time. */
  show?: 'relative' | 'clock' | 'countdown' | 'both'
  seconds?: boolean | 'ms'
  /** -1: where there are thousands, as in a log, Tab passes them over. */
  tabIndex?: -1
  /** Instead of these: the instant in other words. */
  children?: ReactNode
}

export function Time({ at, zone, show = 'relative', seconds = false, tabIndex, children }: Props) {
  const shown = validZone(useZone(zone))
  const instant = new Date(at ?? '')
  const valid = !Number.isNaN(instant.getTime())
  // It is drawn again when its words change, not at each tick: a long list has hundreds.
  const [words = '', ago = ''] = useSyncExternalStore(watch, () => (valid ? textOf(instant, ticks.now, shown, show, seconds) : '')).split(APART)
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 1200)
    return () => clearTimeout(timer)
  }, [copied])
  if (!at) return <span className="quiet">–</span>
  if (!valid) return <span>{at}</span>
  const label = copied ? t('Copied') : fullLabel(instant, shown, zone)
  return (
    <Tooltip label={label} multiline classNames={{ tooltip: classes.lines ?? '' }}>
      <UnstyledButton
        component="button"
        type="button"
        className={classes.time}
        tabIndex={tabIndex}
        onClick={(event) => {
          event.preventDefault()
          event.stopPropagation()
          void copy(instant.toISOString()).then(() => setCopied(true)).catch(tellFailure)
        }}
      >
        <time dateTime={instant.toISOString()}>{children ?? words}</time>
        {ago && <span className={classes.ago}> · {ago}</span>}
        <span className="hidden-label">, {exactly(instant, shown)}. {t('Copy as ISO 8601')}</span>
      </UnstyledButton>
    </Tooltip>
  )
}

const APART = '\n'

function textOf(at: Date, now: Date, zone: string, show: NonNullable<Props['show']>, seconds: boolean | 'ms'): string {
  if (show === 'clock') return shortly(at, zone, now, seconds)
  if (show === 'both') return shortly(at, zone, now, seconds) + APART + relative(at, now)
  if (show === 'countdown') return countdown((at.getTime() - now.getTime()) / 1000)
  return relative(at, now)
}

function fullLabel(at: Date, shown: string, zone: string | null | undefined): string {
  const lines = [`${exactly(at, shown)} (${shown})`]
  const job = zone ? validZone(zone) : null
  if (job && job !== shown) lines.push(`${exactly(at, job)} (${job})`)
  if (shown !== 'UTC' && job !== 'UTC') lines.push(exactly(at, 'UTC'))
  return `${lines.join('\n')}\n${t('Click to copy')}`
}
