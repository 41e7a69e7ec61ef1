/** A day as 24 small fields, the darker the more fires in the hour; a red foot where something failed. */
import { firings, type Shown } from './Calendar'
import { strength } from './often'
import classes from './Calendar.module.css'

const HOURS = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'))

export function Heat({ day, counts, days }: { day: string; counts: Shown['counts']; days: string[] }) {
  const highest = Math.max(1, ...days.flatMap((each) => HOURS.map((hour) => counts.get(`${each}T${hour}`)?.count ?? 0)))
  const all = counts.get(day) ?? { count: 0, failed: 0 }
  return (
    <div className={classes.heat} role="img" aria-label={firings(all)}>
      {HOURS.map((hour) => {
        const here = counts.get(`${day}T${hour}`) ?? { count: 0, failed: 0 }
        return <i key={hour} data-strength={strength(here.count, highest)} data-failed={here.failed || undefined} title={`${hour}:00 · ${firings(here)}`} />
      })}
    </div>
  )
}
