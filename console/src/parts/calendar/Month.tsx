import { useEffect, useRef, type KeyboardEvent } from 'react'
import { number, t, tn } from '@/i18n'
import { Change, firings, type Shown } from './Calendar'
import { Chip } from './Chip'
import { addDays, dayTitle, weekdayNames } from './days'
import { Heat } from './Heat'
import classes from './Calendar.module.css'

const SHOWN_IN_A_DAY = 4

export function Month({ shown, month }: { shown: Shown; month: string }) {
  const { days, byDay, counts, notes, today, go, target } = shown
  const wanted = useRef<string | null>(null)
  const arrows = (event: KeyboardEvent, cell: string) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[event.key]
    if (by === undefined || event.target !== event.currentTarget) return
    event.preventDefault()
    const next = addDays(cell, by)
    const found = document.querySelector<HTMLElement>(`[data-day="${next}"]`)
    if (found) return found.focus()
    wanted.current = next
    go({ day: next })
  }
  // The day of another month, once that is drawn.
  useEffect(() => {
    if (!wanted.current) return
    document.querySelector<HTMLElement>(`[data-day="${wanted.current}"]`)?.focus()
    wanted.current = null
  }, [month])
  return (
    <div className={classes.month}>
      {weekdayNames().map((name) => <div key={name} className={classes.weekday}>{name}</div>)}
      {days.map((cell) => {
        const here = byDay.get(cell) ?? []
        const many = counts.get(cell)
        // One line more than fits is shown instead of “1 more”.
        const most = here.length === SHOWN_IN_A_DAY + 1 ? here.length : SHOWN_IN_A_DAY
        return (
          <div key={cell} className={classes.cell} data-day={cell} tabIndex={0} role="group" aria-label={`${dayTitle(cell, true)}, ${tn('{count} entry', '{count} entries', here.length)}${many ? `, ${firings(many)}` : ''}`} data-today={cell === today || undefined} data-past={cell < today || undefined} data-other={cell.slice(0, 7) !== month || undefined} onKeyDown={(event) => arrows(event, cell)} {...target(cell)}>
            <div className={classes.date}>
              <button type="button" onClick={() => go({ view: 'day', day: cell })} aria-label={dayTitle(cell, true)}>{Number(cell.slice(8))}</button>
              {many && <span className={classes.many} data-failed={many.failed || undefined} title={firings(many)}>{number(many.count)}</span>}
            </div>
            <Change note={notes.get(cell)} />
            {here.slice(0, most).map((event) => <Chip key={event.key} event={event} zone={shown.zone} open={shown.open} move={shown.move} />)}
            {here.length > most && <button type="button" className={classes.more} onClick={() => go({ view: 'day', day: cell })}>{t('{count} more', { count: here.length - most })}</button>}
            {many && <Heat day={cell} counts={counts} days={days} />}
          </div>
        )
      })}
    </div>
  )
}
