import type { ClockChange } from '@/api/schema'
import { locale, t } from '@/i18n'
import { validZone } from '@/parts/instant'
import { Time } from '@/parts/Time'
import classes from './Job.module.css'

/** What the next changes of the clock do to a schedule. */
export function ClockChanges({ changes, zone }: { changes: ClockChange[]; zone: string | null | undefined }) {
  if (changes.length === 0) return null
  return (
    <div className={classes.changes}>
      <strong>{t('Clock changes')}</strong>
      {changes.map((change) => (
        <p key={change.at}>
          <span className="num"><Time at={change.at} zone={zone}>{dayText(change.at, zone)}</Time>:</span> {change.effect ?? change.text}
        </p>
      ))}
    </div>
  )
}

function dayText(at: string, zone: string | null | undefined): string {
  return new Intl.DateTimeFormat(locale(), { timeZone: validZone(zone), day: 'numeric', month: 'short', year: 'numeric' }).format(new Date(at))
}
