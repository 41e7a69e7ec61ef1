/** Day after day, one line for each entry. */
import { UnstyledButton } from '@mantine/core'
import { number, t } from '@/i18n'
import { duration, wallOf } from '../instant'
import { Status, stateName } from '../Status'
import { Change, firings, type CalendarEvent, type Shown } from './Calendar'
import { LATE_SECONDS, lookOf, markOf } from './Chip'
import { dayTitle } from './days'
import type { Often } from './often'
import classes from './Calendar.module.css'

export function AgendaList({ shown, often }: { shown: Shown; often: Often[] }) {
  const { days, byDay, counts, notes, today } = shown
  const filled = days.filter((cell) => byDay.has(cell) || counts.has(cell) || notes.has(cell))
  if (filled.length === 0) return <p className={classes.empty}>{t('Nothing is planned in these days.')}</p>
  return (
    <div className={classes.agenda}>
      {filled.map((cell) => {
        const lines = often.filter((line) => line.cells.has(cell))
        return (
          <section key={cell} aria-label={dayTitle(cell, true)}>
            <h3 data-today={cell === today || undefined}>
              {dayTitle(cell, true)}
              <Change note={notes.get(cell)} />
              {counts.has(cell) && <span className={classes.agendaCount}>{firings(counts.get(cell) ?? { count: 0, failed: 0 })}</span>}
            </h3>
            {(byDay.get(cell) ?? []).map((event) => <Line key={event.key} event={event} shown={shown} />)}
            {lines.length > 0 && (
              <p className={classes.oftenLine}>
                <span>{t('Often:')}</span>
                {lines.map((line) => <UnstyledButton key={line.key} className={classes.pill ?? ''} onClick={() => shown.open(line.event)}>{line.title} <b>×{number(line.cells.get(cell)?.count ?? 0)}</b></UnstyledButton>)}
              </p>
            )}
          </section>
        )
      })}
    </div>
  )
}

function Line({ event, shown }: { event: CalendarEvent; shown: Shown }) {
  const movable = Boolean(event.movable && shown.move)
  const Mark = markOf(event)
  const late = (event.late ?? 0) >= LATE_SECONDS
  return (
    <div className={classes.agendaLine}>
      <button type="button" data-tone={lookOf(event)} onClick={() => shown.open(event)} onKeyDown={(key) => { if (key.key === 'm' && movable) { key.preventDefault(); key.stopPropagation(); shown.move?.(event, null) } }}>
        <span className={classes.time}>{wallOf(new Date(event.at), shown.zone).slice(11)}</span>{' '}
        <Mark size={14} stroke={2} className={classes.mark ?? ''} aria-hidden />
        <span className={classes.name}>{event.title}</span>{' '}
        {event.count && event.count > 1 ? <span className={classes.times}>×{number(event.count)}</span> : null}
        {event.detail && <span className={classes.detail}>{event.detail}</span>}
      </button>
      {late ? <Status status="late" label={t('{time} late', { time: duration(event.late) })} /> : event.status && event.status !== 'upcoming' && event.status !== 'pending' ? <Status status={event.status} label={stateName(event.status)} /> : null}
      {movable && <button type="button" className={classes.moveButton} onClick={() => shown.move?.(event, null)} aria-label={t('Move {name}', { name: event.title })}>{t('Move')}</button>}
    </div>
  )
}
