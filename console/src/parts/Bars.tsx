/**
 * Bars per minute. Each says what it is when it is pointed at, and the whole has a text. Bars that can be picked are
 * buttons, of which one is in the order of Tab; the arrow keys lead to the others.
 */
import { Tooltip } from '@mantine/core'
import { useRef, type KeyboardEvent } from 'react'
import { number } from '@/i18n'
import classes from './Bars.module.css'

export interface Bar {
  key: string
  value: number
  label: string
  /** What stands below, for some of them. */
  tick?: string | undefined
  tone?: 'accent' | 'good' | 'bad' | 'warn'
}

interface Props {
  bars: Bar[]
  label: string
  height?: number
  /** The bar that is shown below, if bars can be picked. */
  picked?: string | null
  pick?: (key: string) => void
  /** Pointed at, or focused: what it holds may be fetched ahead. */
  point?: (key: string) => void
}

export function Bars({ bars, label, height = 96, picked, pick, point }: Props) {
  const highest = Math.max(1, ...bars.map((bar) => bar.value))
  const row = useRef<HTMLDivElement>(null)
  const current = Math.max(0, bars.findIndex((bar) => bar.key === picked))
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -bars.length, End: bars.length }[event.key]
    if (!step || !pick) return
    event.preventDefault()
    const next = Math.min(bars.length - 1, Math.max(0, current + step))
    const bar = bars[next]
    if (bar) pick(bar.key)
    ;(row.current?.children[next] as HTMLElement | undefined)?.focus()
  }
  return (
    <div className={classes.chart}>
      <div className={classes.scale} aria-hidden style={{ height }}>
        <span>{number(highest)}</span>
        <span>0</span>
      </div>
      <div ref={row} className={classes.bars} role={pick ? 'group' : 'img'} aria-label={label} style={{ height }} {...(pick ? { onKeyDown: move } : {})}>
        {bars.map((bar, index) => {
          const inside = <span className={classes.bar} data-tone={bar.tone ?? 'accent'} data-none={bar.value === 0 || undefined} style={{ height: `${bar.value ? Math.max(3, (bar.value / highest) * 100) : 0}%` }} />
          return (
            <Tooltip key={bar.key} label={bar.label} openDelay={0}>
              {pick ? (
                <button type="button" className={classes.slot} aria-label={bar.label} aria-pressed={bar.key === picked} tabIndex={index === current ? 0 : -1} onClick={() => pick(bar.key)} onMouseEnter={() => point?.(bar.key)} onFocus={() => point?.(bar.key)}>{inside}</button>
              ) : (
                <div className={classes.slot}>{inside}</div>
              )}
            </Tooltip>
          )
        })}
      </div>
      <div />
      <div className={classes.ticks} aria-hidden>
        {bars.map((bar) => (
          <span key={bar.key}>{bar.tick && <em>{bar.tick}</em>}</span>
        ))}
      </div>
    </div>
  )
}
