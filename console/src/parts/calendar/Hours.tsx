/**
 * A day or a week by the hour. Above it how much there is in each hour, and a line for each job that fires often; below it
 * the entries that stand alone, in the hour in which they are, with a line where now is.
 */
import { Button } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { number, t, tn } from '@/i18n'
import { wallOf } from '../instant'
import { useNow } from '../Time'
import { Change, firings, type CalendarEvent, type Shown } from './Calendar'
import { Chip } from './Chip'
import { dayTitle } from './days'
import { Heat } from './Heat'
import { strength, type Often } from './often'
import classes from './Calendar.module.css'

const HOURS = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'))
const LINES = 3
// As wide as the hours beside the days.
const SIDE = 44
const SHOWN_IN_AN_HOUR = 12
const SHOWN_IN_AN_HOUR_OF_A_DAY = 100

export function Hours({ shown, often, view }: { shown: Shown; often: Often[]; view: 'day' | 'week' }) {
  const { days, today, zone, byDay, counts, notes, go, target } = shown
  const scroller = useRef<HTMLDivElement>(null)
  const byHour = hoursOf(byDay, zone)
  const first = days[0] ?? ''
  const ready = byDay.size > 0
  // What is asked for comes into view: now, or else the first entry.
  useEffect(() => {
    const box = scroller.current
    if (!box) return
    const now = wallOf(new Date(), zone)
    const hour = days.includes(now.slice(0, 10)) ? Number(now.slice(11, 13)) - 1 : firstHour(byHour)
    const row = box.querySelector<HTMLElement>(`[data-hour="${String(Math.max(0, hour)).padStart(2, '0')}"]`)
    const head = box.querySelector<HTMLElement>('[data-head]')
    if (row) box.scrollTop = row.offsetTop - (head?.offsetHeight ?? 0)
    // A week is wider than a telephone.
    const day = box.querySelector<HTMLElement>('[data-today]')
    if (day) box.scrollLeft = day.offsetLeft - SIDE
    // Not while data comes and goes: that would move what is being read.
  }, [view, first, ready, zone])
  const columns = { gridTemplateColumns: `44px repeat(${days.length}, minmax(${view === 'day' ? 0 : 140}px, 1fr))` }
  return (
    <div ref={scroller} className={classes.hours} data-view={view} tabIndex={0} role="group" aria-label={t('By the hour')}>
      <div className={classes.top} data-head>
      <div className={classes.heads} style={columns}>
        <div />
        {days.map((cell) => (
          <div key={cell} className={classes.dayHead} data-today={cell === today || undefined} data-past={cell < today || undefined}>
            {view === 'week' ? <button type="button" onClick={() => go({ view: 'day', day: cell })}>{dayTitle(cell)}<span className="hidden-label">: {t('Day')}</span></button> : dayTitle(cell)}
            <Change note={notes.get(cell)} short={view === 'week'} />
            {counts.get(cell) && <span className={classes.many} data-failed={counts.get(cell)?.failed || undefined} title={firings(counts.get(cell) ?? { count: 0, failed: 0 })}>{number(counts.get(cell)?.count ?? 0)}</span>}
            <Heat day={cell} counts={counts} days={days} />
          </div>
        ))}
      </div>
      {often.length > 0 && <OftenLines often={often} shown={shown} view={view} />}
      </div>
      <div className={classes.grid} style={columns}>
        {HOURS.map((hour) => (
          <Row key={hour} hour={hour} shown={shown} byHour={byHour} target={target} most={view === 'day' ? SHOWN_IN_AN_HOUR_OF_A_DAY : SHOWN_IN_AN_HOUR} />
        ))}
      </div>
    </div>
  )
}

function Row({ hour, shown, byHour, target, most }: { hour: string; shown: Shown; byHour: Map<string, CalendarEvent[]>; target: Shown['target']; most: number }) {
  return (
    <>
      <div className={classes.hour} data-hour={hour}>{hour}:00</div>
      {shown.days.map((cell) => {
        const here = byHour.get(`${cell}T${hour}`) ?? []
        return (
          <div key={cell} className={classes.slot} data-today={cell === shown.today || undefined} {...target(`${cell}T${hour}`)}>
            {here.slice(0, most).map((event) => <Chip key={event.key} event={event} zone={shown.zone} open={shown.open} move={shown.move} />)}
            {here.length > most && <button type="button" className={classes.more} onClick={() => shown.go({ view: shown.days.length > 1 ? 'day' : 'agenda', day: cell })}>{t('{count} more', { count: here.length - most })}</button>}
            {cell === shown.today && <NowLine day={cell} hour={hour} zone={shown.zone} />}
          </div>
        )
      })}
    </>
  )
}

/** Where now is, in the one field in which it is. */
function NowLine({ day, hour, zone }: { day: string; hour: string; zone: string }) {
  const now = useNow()
  const wall = wallOf(now, zone)
  if (wall.slice(0, 13) !== `${day}T${hour}`) return null
  return <span className={classes.now} style={{ top: `${(Number(wall.slice(14, 16)) / 60) * 100}%` }} title={wall.slice(11)}><span className="hidden-label">{t('now')}</span></span>
}

function OftenLines({ often, shown, view }: { often: Often[]; shown: Shown; view: 'day' | 'week' }) {
  const [all, setAll] = useState(false)
  const lines = all || often.length <= LINES + 1 ? often : often.slice(0, LINES)
  const names = view === 'day' ? HOURS.map((hour) => `${shown.days[0]}T${hour}`) : shown.days
  return (
    <div className={classes.often}>
      <div className={classes.lines} role="list" aria-label={t('What fires often')}>{lines.map((line) => <OftenLine key={line.key} line={line} names={names} open={shown.open} />)}</div>
      {often.length > lines.length && <Button variant="subtle" color="gray" size="compact-xs" onClick={() => setAll(true)}>{tn('{count} more job that fires often', '{count} more jobs that fire often', often.length - lines.length)}</Button>}
      {all && often.length > LINES + 1 && <Button variant="subtle" color="gray" size="compact-xs" onClick={() => setAll(false)}>{t('Show less')}</Button>}
    </div>
  )
}

function OftenLine({ line, names, open }: { line: Often; names: string[]; open: Shown['open'] }) {
  const highest = Math.max(...[...line.cells.values()].map((cell) => cell.count))
  return (
    <div role="listitem" className={classes.line}>
      <div className={classes.cells} aria-hidden style={{ gridTemplateColumns: `repeat(${names.length}, minmax(0, 1fr))` }}>
        {names.map((name) => {
          const cell = line.cells.get(name) ?? { count: 0, failed: 0 }
          return <i key={name} data-strength={strength(cell.count, highest)} data-failed={cell.failed || undefined} />
        })}
      </div>
      <button type="button" className={classes.lineText} onClick={() => open(line.event)}>
        <span className={classes.name}>{line.title}</span>{' '}
        {line.schedule && <code>{line.schedule}</code>}{' '}
        <span className={classes.space} />
        {line.failed > 0 && <span className="bad">{t('{count} failed', { count: number(line.failed) })}</span>}{' '}
        <span className={classes.lineCount}>×{number(line.count)}</span>
      </button>
    </div>
  )
}

function hoursOf(byDay: Map<string, CalendarEvent[]>, zone: string): Map<string, CalendarEvent[]> {
  const made = new Map<string, CalendarEvent[]>()
  for (const event of [...byDay.values()].flat()) {
    const name = wallOf(new Date(event.at), zone).slice(0, 13)
    const known = made.get(name)
    if (known) known.push(event)
    else made.set(name, [event])
  }
  return made
}

/** The hour of the earliest entry, and at most seven in the morning. */
function firstHour(byHour: Map<string, CalendarEvent[]>): number {
  return Math.min(7, ...[...byHour.keys()].map((name) => Number(name.slice(11, 13))))
}
