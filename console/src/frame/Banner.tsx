/** What concerns every page: the connection is lost, or the cluster is degraded. */
import { IconAlertTriangle, IconPlugConnectedX } from '@tabler/icons-react'
import { Link, useLocation } from 'react-router'
import { t } from '@/i18n'
import { attentionText } from '@/parts/attention'
import { duration } from '@/parts/instant'
import { useNow } from '@/parts/Time'
import { useLiveState, useSession } from './session'
import classes from './Banner.module.css'

// Beyond this much, times that the server says and those that this page works out no longer fit together.
const LARGEST_SKEW_MS = 5000

export function Banner() {
  const live = useLiveState()
  const session = useSession()
  const now = useNow()
  const { pathname } = useLocation()
  if (live.state === 'lost') {
    const since = live.lostAt ? duration(Math.max(0, now.getTime() - live.lostAt) / 1000) : ''
    return (
      <div className={classes.banner} data-tone="bad" role="alert">
        <IconPlugConnectedX size={16} aria-hidden />
        <span>{t('The connection to the server is lost since {since}. What is shown is as old; it is tried again by itself.', { since })}</span>
        <button type="button" onClick={() => session.feed.open()}>{t('Try now')}</button>
      </div>
    )
  }
  const attention = live.overview?.attention ?? []
  // No leader, clocks that differ, an elector that is silent: whatever concerns the cluster.
  const problems = attention.filter((each) => each.link_kind === 'cluster' && each.severity !== 'info').map(attentionText)
  // The overview and the dead letters say it themselves.
  const growing = pathname === '/' || pathname.startsWith('/dead') ? undefined : attention.find((each) => each.code === 'dead_growing')
  if (growing) problems.push(attentionText(growing))
  if (Math.abs(live.skew) > LARGEST_SKEW_MS) problems.push(t('The clock of this browser is {skew} off that of the server', { skew: duration(Math.abs(live.skew) / 1000) }))
  if (problems.length === 0) return null
  return (
    <div className={classes.banner} data-tone="warn" role="status">
      <IconAlertTriangle size={16} aria-hidden />
      <span>{problems.join(' · ')}</span>
      {growing && <Link to="/dead">{t('Dead letters')}</Link>}
      {session.mayEverywhere('viewer') && (problems.length > 1 || !growing) && <Link to="/cluster">{t('Cluster')}</Link>}
    </div>
  )
}
