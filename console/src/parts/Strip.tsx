/** The last runs of a job as a row of marks, the newest on the right. What failed is notched, what runs is hollow, what was skipped is low: not by colour alone. */
import { Tooltip } from '@mantine/core'
import { Link } from 'react-router'
import type { StripItem } from '@/api/types'
import { t, tn } from '@/i18n'
import { duration, relative } from './instant'
import { stateName, toneOf } from './Status'
import { useNow } from './Time'
import classes from './Strip.module.css'

const LENGTH = 12

export function Strip({ items }: { items: StripItem[] | null | undefined }) {
  const now = useNow()
  if (!items?.length) return <span className="quiet">{t('no runs yet')}</span>
  const empty = Math.max(0, LENGTH - items.length)
  const failures = items.filter((item) => toneOf(item.status) === 'bad').length
  const name = `${tn('last {count} run', 'last {count} runs', items.length)}, ${tn('{count} failed', '{count} failed', failures)}`
  return (
    <span className={classes.strip} role="group" aria-label={name}>
      {Array.from({ length: empty }, (_, index) => (
        <span key={`empty-${index}`} className={classes.empty} aria-hidden />
      ))}
      {items.map((item, index) => {
        const label = `${stateName(item.status)} · ${relative(new Date(item.at), now)}${item.seconds != null ? ` · ${duration(item.seconds)}` : ''}`
        const mark = <span className={classes.mark} data-tone={toneOf(item.status)} />
        return (
          <Tooltip key={item.run_id ?? index} label={label}>
            {item.run_id ? (
              <Link to={`/runs/${item.run_id}`} className={classes.link} aria-label={label} tabIndex={-1} onClick={(event) => event.stopPropagation()}>
                {mark}
              </Link>
            ) : (
              <span className={classes.link}>{mark}</span>
            )}
          </Tooltip>
        )
      })}
    </span>
  )
}
