/** Lines over time with uPlot: the colours of the page, a legend with the values under the pointer. */
import { useElementSize } from '@mantine/hooks'
import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useZone } from '@/frame/session'
import { t } from '@/i18n'
import { inZones } from './instant'
import classes from './Chart.module.css'

export interface Line {
  label: string
  values: (number | null)[]
  /** A variable of the style sheet: --accent. */
  color: string
  dash?: number[]
  fill?: boolean
}

export function Chart({ at, lines, unit, label, height = 160 }: { at: string[]; lines: Line[]; unit: (value: number) => string; label: string; height?: number }) {
  const { ref: box, width } = useElementSize()
  const holder = useRef<HTMLDivElement>(null)
  const colorScheme = useComputedColorScheme('light', { getInitialValueInEffect: false })
  const zone = useZone()
  const [index, setIndex] = useState<number | null>(null)
  const data = useRef<uPlot.AlignedData>([[]])
  data.current = [at.map((each) => new Date(each).getTime() / 1000), ...lines.map((line) => line.values)]
  const drawn = useRef<uPlot | null>(null)
  // Made anew for another look only: what is pointed at stays so while data comes.
  const looks = JSON.stringify(lines.map(({ values: _, ...look }) => look))
  useEffect(() => {
    const target = holder.current
    if (!target || width < 50) return
    const style = getComputedStyle(document.documentElement)
    const color = (name: string) => style.getPropertyValue(name).trim()
    const axis = { stroke: color('--quiet'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false }, font: '11px "Inter Variable", sans-serif' }
    const plot = new uPlot(
      {
        width,
        height,
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), zone),
        cursor: { points: { size: 6 }, y: false },
        legend: { show: false },
        padding: [8, 18, 0, 0],
        hooks: { setCursor: [(shown) => setIndex(shown.cursor.idx ?? null)] },
        scales: { y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1] } },
        axes: [
          { ...axis, grid: { show: false }, size: 26, space: 70, values: [[86400, '{D} {MMM}', null, null, null, null, null, null, 1], [60, '{HH}:{mm}', null, null, null, null, null, null, 1], [1, '{HH}:{mm}:{ss}', null, null, null, null, null, null, 1]] },
          { ...axis, size: 50, space: 26, values: (_, splits) => splits.map((value) => unit(value)) },
        ],
        series: [
          { value: '{DD} {MMM} {HH}:{mm}' },
          ...(JSON.parse(looks) as Omit<Line, 'values'>[]).map((line) => ({
            label: line.label,
            stroke: color(line.color),
            width: 1.6,
            points: { show: (shown: uPlot, series: number) => (shown.data[series] ?? []).filter((value) => value !== null).length < 3 },
            spanGaps: true,
            ...(line.dash ? { dash: line.dash } : {}),
            ...(line.fill ? { fill: `${color(line.color)}22` } : {}),
            value: (_: uPlot, value: number | null) => (value === null ? '–' : unit(value)),
          })),
        ],
      },
      data.current,
      target,
    )
    drawn.current = plot
    return () => {
      drawn.current = null
      plot.destroy()
    }
  }, [looks, unit, width, height, colorScheme, zone])
  useEffect(() => {
    drawn.current?.setData(data.current)
  }, [at, lines])
  return (
    <div ref={box} className={classes.chart} role="img" aria-label={`${label}. ${summary(lines, unit)}`}>
      <div className={classes.legend} aria-hidden>
        {lines.map((line) => {
          const value = index === null ? line.values.findLast((each) => each !== null) : line.values[index]
          return <span key={line.label}><i data-dashed={line.dash ? true : undefined} style={{ color: `var(${line.color})` }} />{line.label} <strong>{value == null ? '–' : unit(value)}</strong></span>
        })}
        <span>{index === null || !at[index] ? t('latest') : inZones(new Date(at[index] ?? ''), [zone], new Date())}</span>
      </div>
      <div ref={holder} style={{ height }} />
    </div>
  )
}

/** The latest value of each line: what a screen reader says. */
function summary(lines: Line[], unit: (value: number) => string): string {
  return lines
    .map((line) => {
      const last = line.values.findLast((value) => value !== null)
      return `${line.label}: ${last == null ? t('no data') : unit(last)}`
    })
    .join(', ')
}
