/**
 * Day, week, month and agenda of whatever has an instant. What can be moved is dragged, or moved with the key `m`, which
 * asks for the new time; either way the question shows what is about to happen.
 */
import { ActionIcon, Button, SegmentedControl, Tooltip } from '@mantine/core'
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react'
import { useMemo, useState, type KeyboardEvent, type ReactNode } from 'react'
import { number, t, tn } from '@/i18n'
import { dayOf, wallOf } from '../instant'
import { stateName, toneOf } from '../Status'
import { addDays, dayTitle, daysOf, step, titleOf, weekdayNames, type View } from './days'
import classes from './Calendar.module.css'

export interface CalendarEvent {
  key: string
  at: string
  title: string
  detail?: string | null
  status?: string | null
  movable?: boolean
  /** How many times it stands for. */
  count?: number | null
}

interface Props {
  view: View
  day: string
  zone: string
  events: CalendarEvent[]
  /** How many there are in an hour, where there are too many to show each. */
  density?: { at: string; count: number }[]
  clockChanges?: { date: string; note: string }[]
  go(change: { view?: View; day?: string }): void
  open(event: CalendarEvent): void
  move?(event: CalendarEvent, local: string | null): void
  right?: ReactNode
}

const SHOWN_IN_A_DAY = 4

export function Calendar({ view, day, zone, events, density = [], clockChanges = [], go, open, move, right }: Props) {
  const today = dayOf(new Date(), zone)
  const days = daysOf(view, day)
  const byDay = useMemo(() => grouped(events, zone), [events, zone])
  const counts = useMemo(() => {
    const made = new Map<string, number>()
    for (const each of density) made.set(dayOf(new Date(each.at), zone), (made.get(dayOf(new Date(each.at), zone)) ?? 0) + each.count)
    return made
  }, [density, zone])
  const notes = new Map(clockChanges.map((each) => [each.date, each.note]))
  const [over, setOver] = useState<string | null>(null)
  const drop = (target: string, key: string) => {
    setOver(null)
    const event = events.find((each) => each.key === key)
    if (!event || !move) return
    const [targetDay = '', hour] = target.split('T')
    const time = wallOf(new Date(event.at), zone).slice(11)
    const local = `${targetDay}T${hour ? `${hour}:${time.slice(3)}` : time}`
    if (local !== wallOf(new Date(event.at), zone)) move(event, local)
  }
  const target = (name: string) =>
    move
      ? {
          'data-over': over === name || undefined,
          onDragOver: (event: React.DragEvent) => { event.preventDefault(); setOver(name) },
          onDragLeave: () => setOver(null),
          onDrop: (event: React.DragEvent) => { event.preventDefault(); drop(name, event.dataTransfer.getData('text/plain')) },
        }
      : {}
  const arrows = (event: KeyboardEvent, cell: string) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[event.key]
    if (by === undefined || event.target !== event.currentTarget) return
    event.preventDefault()
    const next = addDays(cell, by)
    const found = document.querySelector<HTMLElement>(`[data-day="${next}"]`)
    if (found) found.focus()
    else go({ day: next })
  }
  const chip = (event: CalendarEvent) => <Chip key={event.key} event={event} zone={zone} open={open} move={move} />
  return (
    <section className={classes.calendar}>
      <header className={classes.head}>
        <Button variant="default" onClick={() => go({ day: today })}>{t('Today')}</Button>
        <ActionIcon variant="default" aria-label={t('Earlier')} onClick={() => go({ day: step(view, day, -1) })}><IconChevronLeft size={16} /></ActionIcon>
        <ActionIcon variant="default" aria-label={t('Later')} onClick={() => go({ day: step(view, day, 1) })}><IconChevronRight size={16} /></ActionIcon>
        <h2 aria-live="polite">{titleOf(view, day)}</h2>
        <span className={classes.space} />
        {right}
        <span className={classes.zone}>{zone}</span>
        <SegmentedControl aria-label={t('View')} value={view} onChange={(value) => go({ view: value as View })} data={[{ value: 'day', label: t('Day') }, { value: 'week', label: t('Week') }, { value: 'month', label: t('Month') }, { value: 'agenda', label: t('Agenda') }]} />
      </header>
      {view === 'month' && (
        <div className={classes.month}>
          {weekdayNames().map((name) => <div key={name} className={classes.weekday}>{name}</div>)}
          {days.map((cell) => {
            const here = byDay.get(cell) ?? []
            const many = counts.get(cell) ?? 0
            return (
              <div key={cell} className={classes.cell} data-day={cell} tabIndex={0} role="group" aria-label={`${dayTitle(cell, true)}, ${tn('{count} entry', '{count} entries', Math.max(sum(here), many))}`} data-today={cell === today || undefined} data-other={cell.slice(0, 7) !== day.slice(0, 7) || undefined} onKeyDown={(event) => arrows(event, cell)} {...target(cell)}>
                <div className={classes.date}>
                  <button type="button" onClick={() => go({ view: 'day', day: cell })} aria-label={dayTitle(cell, true)}>{Number(cell.slice(8))}</button>
                  {notes.has(cell) && <Tooltip label={notes.get(cell)}><span className={classes.change} tabIndex={0} aria-label={notes.get(cell)}>◔ {t('clock change')}</span></Tooltip>}
                  {many > sum(here) && <span className={classes.many}>{number(many)}</span>}
                </div>
                {here.slice(0, SHOWN_IN_A_DAY).map(chip)}
                {here.length > SHOWN_IN_A_DAY && <button type="button" className={classes.more} onClick={() => go({ view: 'day', day: cell })}>{t('{count} more', { count: here.length - SHOWN_IN_A_DAY })}</button>}
              </div>
            )
          })}
        </div>
      )}
      {(view === 'week' || view === 'day') && (
        <div className={classes.hours} style={{ gridTemplateColumns: `52px repeat(${days.length}, minmax(${view === 'day' ? 0 : 92}px, 1fr))` }}>
          <div />
          {days.map((cell) => <div key={cell} className={classes.dayHead} data-today={cell === today || undefined}>{dayTitle(cell)}{notes.has(cell) && <span className={classes.change}> ◔ {notes.get(cell)}</span>}</div>)}
          {Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0')).map((hour) => (
            <Hour key={hour} hour={hour}>
              {days.map((cell) => {
                const here = (byDay.get(cell) ?? []).filter((event) => wallOf(new Date(event.at), zone).slice(11, 13) === hour)
                const many = density.filter((each) => wallOf(new Date(each.at), zone).startsWith(`${cell}T${hour}`)).reduce((sum, each) => sum + each.count, 0)
                return (
                  <div key={cell} className={classes.slot} {...target(`${cell}T${hour}`)}>
                    {many > sum(here) && <span className={classes.many}>{tn('{count} firing', '{count} firings', many)}</span>}
                    {here.slice(0, 30).map(chip)}
                    {here.length > 30 && <span className="quiet">{t('{count} more', { count: here.length - 30 })}</span>}
                  </div>
                )
              })}
            </Hour>
          ))}
        </div>
      )}
      {view === 'agenda' && (
        <div className={classes.agenda}>
          {days.filter((cell) => byDay.has(cell) || counts.has(cell) || notes.has(cell)).map((cell) => (
            <div key={cell}>
              <h3>{dayTitle(cell, true)}{notes.has(cell) && <span className={classes.change}> ◔ {notes.get(cell)}</span>}{counts.has(cell) && <span className="quiet"> · {tn('{count} firing', '{count} firings', counts.get(cell) ?? 0)}</span>}</h3>
              {(byDay.get(cell) ?? []).map(chip)}
            </div>
          ))}
          {days.every((cell) => !byDay.has(cell) && !counts.has(cell)) && <p className="quiet">{t('Nothing is planned in these days.')}</p>}
        </div>
      )}
    </section>
  )
}

function Hour({ hour, children }: { hour: string; children: ReactNode }) {
  return <><div className={classes.hour}>{hour}:00</div>{children}</>
}

function Chip({ event, zone, open, move }: { event: CalendarEvent; zone: string; open(event: CalendarEvent): void; move: Props['move'] }) {
  const movable = Boolean(event.movable && move)
  const time = wallOf(new Date(event.at), zone).slice(11)
  const many = event.count && event.count > 1 ? `×${number(event.count)}` : ''
  const label = `${time} ${event.title}${many && ` ${many}`}${event.detail ? `, ${event.detail}` : ''}${event.status ? `, ${stateName(event.status)}` : ''}${movable ? `. ${t('Press m to move it')}` : ''}`
  return (
    <Tooltip label={label} openDelay={500}>
      <button
        type="button"
        className={classes.chip}
        data-tone={toneOf(event.status)}
        data-movable={movable || undefined}
        draggable={movable}
        aria-label={label}
        onDragStart={(drag) => { drag.dataTransfer.setData('text/plain', event.key); drag.dataTransfer.effectAllowed = 'move' }}
        onClick={() => open(event)}
        onKeyDown={(key) => {
          if (key.key === 'm' && movable && move) {
            key.preventDefault()
            key.stopPropagation()
            move(event, null)
          }
        }}
      >
        <span className={classes.time}>{time}</span> <span className={classes.name}>{event.title}</span>{' '}
        {many && <span className={classes.times}>{many}</span>}
      </button>
    </Tooltip>
  )
}

/** How many occurrences entries stand for. */
function sum(events: CalendarEvent[]): number {
  return events.reduce((all, event) => all + (event.count ?? 1), 0)
}

function grouped(events: CalendarEvent[], zone: string): Map<string, CalendarEvent[]> {
  const made = new Map<string, CalendarEvent[]>()
  for (const event of events) {
    const day = dayOf(new Date(event.at), zone)
    const list = made.get(day)
    if (list) list.push(event)
    else made.set(day, [event])
  }
  for (const list of made.values()) list.sort((first, second) => first.at.localeCompare(second.at))
  return made
}
