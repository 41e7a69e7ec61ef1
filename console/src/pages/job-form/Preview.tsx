/** The schedule as it is written now: in words, its next times, clock changes, and who else fires then. */
import { Button, Skeleton } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { ApiError } from '@/api/client'
import type { JobSpec, PreviewInCompany } from '@/api/schema'
import { locale, said, t, tn } from '@/i18n'
import { browserZone, duration, inZones, validZone } from '@/parts/instant'
import { Panel } from '@/parts/Page'
import { Time } from '@/parts/Time'
import { ClockChanges } from '../job/ClockChanges'
import classes from './JobForm.module.css'

/** `own`: when the job that is edited fires next; it is no other job. */
export function LivePreview({ asked, preview, own, spread }: { asked: Pick<JobSpec, 'schedule' | 'timezone'>; preview: UseQueryResult<PreviewInCompany>; own: string | null | undefined; spread: (seconds: number) => void }) {
  const failed = preview.error instanceof ApiError ? preview.error : null
  const data = preview.data
  const zone = validZone(asked.timezone)
  const mine = browserZone()
  const others = data ? othersIn(data, own) : null
  return (
    <div className={classes.preview} aria-live="polite">
      <Panel title={t('Preview')} right={asked.timezone ?? 'UTC'} flush>
        {!asked.schedule && (
          <div className={classes.hint}>
            <p>{t('Write a schedule to see when it fires.')}</p>
          </div>
        )}
        {asked.schedule && !data && !failed && <div className={classes.hint}><Skeleton height={12} mb={10} /><Skeleton height={12} width="70%" /></div>}
        {failed && (
          <div className={classes.hint}>
            <p className="bad">{failed.message}</p>
            {failed.hint && <p>{failed.hint}</p>}
          </div>
        )}
        {!failed && data && asked.schedule && (
          <>
            <p className={classes.words}>{data.explanation}</p>
            <ol className={classes.times}>
              {data.occurrences.map((each) => (
                <li key={each.scheduled_at + each.local} data-skipped={each.skipped ? true : undefined}>
                  <span>
                    <span className={classes.local}>{weekday(each.scheduled_at, zone)}</span>
                    {zone !== mine && <small>{t('{time} for you', { time: inZones(new Date(each.scheduled_at), [mine], new Date(each.scheduled_at)) })}</small>}
                    {each.note && <em>{each.note}</em>}
                    {each.skipped && !each.note && <em>{t('skipped')}: {t(each.skipped)}</em>}
                  </span>
                  <span className="quiet"><Time at={each.scheduled_at} zone={asked.timezone} /></span>
                </li>
              ))}
            </ol>
            {data.warnings.map((warning) => <p key={warning} className={classes.hint}>{said(warning)}</p>)}
            <ClockChanges changes={data.clock_changes} zone={zone} />
            {others !== null && (
              <div className={classes.company}>
                <span>{others === 0 ? t('No other job fires in its next minute.') : tn('{count} other job fires in its next minute.', '{count} other jobs fire in its next minute.', others)}</span>
                {data.spread_offer ? <Button variant="default" onClick={() => spread(data.spread_offer ?? 0)}>{t('Spread it over {time}', { time: duration(data.spread_offer) })}</Button> : null}
              </div>
            )}
          </>
        )}
      </Panel>
    </div>
  )
}

/** How many others are due in the minute of its first occurrence. */
export function othersIn({ shares_minute: sharing, occurrences }: Pick<PreviewInCompany, 'shares_minute' | 'occurrences'>, own: string | null | undefined): number | null {
  const first = occurrences.find((each) => !each.skipped)
  const minute = (at: string) => Math.floor(Date.parse(at) / 60_000)
  return sharing !== null && own && first && minute(own) === minute(first.scheduled_at) ? Math.max(0, sharing - 1) : sharing
}

/** “Thu 19 Nov, 02:30 CET”, with seconds if it has some. */
function weekday(at: string, zone: string): string {
  const instant = new Date(at)
  return new Intl.DateTimeFormat(locale(), {
    timeZone: zone, weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short',
    ...(instant.getUTCSeconds() ? { second: '2-digit' } : {}),
    ...(instant.getTime() - Date.now() > 300 * 86_400_000 ? { year: 'numeric' } : {}),
  }).format(instant)
}
