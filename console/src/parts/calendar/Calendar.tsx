/**
 * Day, week, month and agenda of whatever has an instant. What can be moved is dragged, or moved with the key `m`, which
 * asks for the new time; either way the question shows what is about to happen. What fires often is one line for each job.
 */
import { ActionIcon, Button, SegmentedControl, Tooltip } from '@mantine/core'
import { IconChevronLeft, IconChevronRight, IconClockEdit } from '@tabler/icons-react'
import { useMemo, useState, type DragEvent, type ReactNode } from 'react'
import { number, t, tn } from '@/i18n'
import { dayOf, wallOf } from '../instant'
import { AgendaList } from './AgendaList'
import { daysOf, step, titleOf, type View } from './days'
import { Hours } from './Hours'
import { Month } from './Month'
import { apart } from './often'
import classes from './Calendar.module.css'

export interface CalendarEvent {
  key: string
  at: string
  title: string
  detail?: string | null
  status?: string | null
  /** job, content, release or campaign. */
  kind?: string
  /** Whether it has happened. */
  past?: boolean
  movable?: boolean
  /** How many times it stands for. */
  count?: number | null
  /** Events of one job have one: if they are many, they are shown as one line. */
  series?: string | null
  schedule?: string | null
  /** How many seconds later than planned it began. */
  late?: number | null
}

export interface Density {
  at: string
  count: number
  failed?: number
}

interface Props {
  view: View
  day: string
  zone: string
  events: CalendarEvent[]
  /** How many there are in each hour. */
  density?: Density[]
  clockChanges?: { date: string; note: string }[]
  go(change: { view?: View; day?: string }): void
  open(event: CalendarEvent): void
  move?(event: CalendarEvent, local: string | null): void
  right?: ReactNode
  /** Under the head: what the signs mean, what is left out. */
  note?: ReactNode
}

/** What the views share. */
export interface Shown {
  days: string[]
  today: string
  zone: string
  byDay: Map<string, CalendarEvent[]>
  /** By day or hour, as `cells` of what is often. */
  counts: Map<string, { count: number; failed: number }>
  notes: Map<string, string>
  open(event: CalendarEvent): void
  move: Props['move']
  go: Props['go']
  /** Where something can be dropped: a day, or a day and an hour. */
  target(name: string): object
}

export function Calendar({ view, day, zone, events, density = [], clockChanges = [], go, open, move, right, note }: Props) {
  const today = dayOf(new Date(), zone)
  const days = daysOf(view, day)
  const { seldom, often } = useMemo(() => apart(events, zone, view === 'day' ? 'hour' : 'day'), [events, zone, view])
  const byDay = useMemo(() => grouped(seldom, zone), [seldom, zone])
  const counts = useMemo(() => counted(density, zone), [density, zone])
  const notes = new Map(clockChanges.map((each) => [each.date, each.note]))
  const [over, setOver] = useState<string | null>(null)
  const drop = (name: string, key: string) => {
    setOver(null)
    const event = events.find((each) => each.key === key)
    if (!event || !move) return
    const [targetDay = '', hour] = name.split('T')
    const time = wallOf(new Date(event.at), zone).slice(11)
    const local = `${targetDay}T${hour ? `${hour}:${time.slice(3)}` : time}`
    if (local !== wallOf(new Date(event.at), zone)) move(event, local)
  }
  const target = (name: string) =>
    move
      ? {
          'data-over': over === name || undefined,
          onDragOver: (event: DragEvent) => { event.preventDefault(); setOver(name) },
          onDragLeave: () => setOver(null),
          onDrop: (event: DragEvent) => { event.preventDefault(); drop(name, event.dataTransfer.getData('text/plain')) },
        }
      : {}
  const shown: Shown = { days, today, zone, byDay, counts, notes, open, move, go, target }
  return (
    <section className={classes.calendar}>
      <header className={classes.head}>
        <div className={classes.steps}>
          <ActionIcon variant="default" aria-label={t('Earlier')} onClick={() => go({ day: step(view, day, -1) })}><IconChevronLeft size={16} /></ActionIcon>
          <Button variant="default" onClick={() => go({ day: today })}>{t('Today')}</Button>
          <ActionIcon variant="default" aria-label={t('Later')} onClick={() => go({ day: step(view, day, 1) })}><IconChevronRight size={16} /></ActionIcon>
        </div>
        <h2 aria-live="polite">{titleOf(view, day)} <span className={classes.zone}>{zone}</span></h2>
        <span className={classes.space} />
        {right}
        <SegmentedControl aria-label={t('View')} value={view} onChange={(value) => go({ view: value as View })} data={[{ value: 'day', label: t('Day') }, { value: 'week', label: t('Week') }, { value: 'month', label: t('Month') }, { value: 'agenda', label: t('Agenda') }]} />
      </header>
      {note}
      {view === 'month' && <Month shown={shown} month={day.slice(0, 7)} />}
      {(view === 'week' || view === 'day') && <Hours shown={shown} often={often} view={view} />}
      {view === 'agenda' && <AgendaList shown={shown} often={often} />}
    </section>
  )
}

/** A day on which the clocks change. */
export function Change({ note, short = false }: { note: string | undefined; short?: boolean }) {
  if (!note) return null
  return (
    <Tooltip label={note} multiline maw={320}>
      <span className={classes.change} tabIndex={0} role="note" aria-label={note}><IconClockEdit size={12} aria-hidden /> {short ? null : t('clock change')}</span>
    </Tooltip>
  )
}

/** “1,440, 3 failed”. */
export function firings({ count, failed }: { count: number; failed: number }): string {
  return `${tn('{count} firing', '{count} firings', count)}${failed ? `, ${t('{count} failed', { count: number(failed) })}` : ''}`
}

function grouped(events: CalendarEvent[], zone: string): Map<string, CalendarEvent[]> {
  const made = new Map<string, CalendarEvent[]>()
  for (const event of events) {
    const day = dayOf(new Date(event.at), zone)
    const list = made.get(day)
    if (list) list.push(event)
    else made.set(day, [event])
  }
  for (const list of made.values()) list.sort((first, second) => first.at.localeCompare(second.at) || first.title.localeCompare(second.title))
  return made
}

/** By hour and by day. */
function counted(density: Density[], zone: string): Shown['counts'] {
  const made: Shown['counts'] = new Map()
  for (const { at, count, failed = 0 } of density) {
    const wall = wallOf(new Date(at), zone)
    for (const name of [wall.slice(0, 10), wall.slice(0, 13)]) {
      const known = made.get(name) ?? { count: 0, failed: 0 }
      made.set(name, { count: known.count + count, failed: known.failed + failed })
    }
  }
  return made
}
