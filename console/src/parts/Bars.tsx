/** Bars per minute in plain SVG; each bar says what it is when it is pointed at, and the whole has a text. */
import { Tooltip } from '@mantine/core'
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

export function Bars({ bars, label, height = 96 }: { bars: Bar[]; label: string; height?: number }) {
  const highest = Math.max(1, ...bars.map((bar) => bar.value))
  return (
    <div className={classes.chart}>
      <div className={classes.scale} aria-hidden style={{ height }}>
        <span>{number(highest)}</span>
        <span>0</span>
      </div>
      <div className={classes.bars} role="img" aria-label={label} style={{ height }}>
        {bars.map((bar) => (
          <Tooltip key={bar.key} label={bar.label} openDelay={0}>
            <div className={classes.slot}>
              <div className={classes.bar} data-tone={bar.tone ?? 'accent'} data-none={bar.value === 0 || undefined} style={{ height: `${bar.value ? Math.max(3, (bar.value / highest) * 100) : 0}%` }} />
            </div>
          </Tooltip>
        ))}
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
