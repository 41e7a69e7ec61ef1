/** What is out from when to when: each window a bar on a line of five weeks. */
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Link } from 'react-router'
import { page } from '@/api/client'
import { useZone } from '@/frame/session'
import { t, tn } from '@/i18n'
import { addDays, dayTitle, instantOf } from '@/parts/calendar/days'
import { Empty } from '@/parts/Empty'
import { dayOf } from '@/parts/instant'
import { Answer, Panel } from '@/parts/Page'
import { everyRow } from '@/parts/rows'
import { Time, useNow } from '@/parts/Time'
import { nameOf } from './Board'
import { windowsOf, type Open } from './opened'
import classes from './Content.module.css'

const BEFORE = 7
const DAYS = 35

export function Windows() {
  const zone = useZone()
  const now = useNow()
  const first = addDays(dayOf(now, zone), -BEFORE)
  const [start, end] = [instantOf(`${first}T00:00`, zone), instantOf(`${addDays(first, DAYS)}T00:00`, zone)]
  const asked = useQuery({ queryKey: ['content', 'windows', start], queryFn: ({ signal }) => everyRow((cursor) => page('GET /content/calendar', { query: { start, end, limit: 1000, cursor }, signal })) })
  const weeks = useMemo(() => Array.from({ length: DAYS / 7 }, (_, week) => addDays(first, week * 7)), [first])
  const place = (at: string | number) => ((new Date(at).getTime() - Date.parse(start)) / (Date.parse(end) - Date.parse(start))) * 100
  return (
    <Answer query={asked}>
      {({ items, cut }) => {
        const found = windowsOf(items)
        if (found.length === 0) return <Panel><Empty title={t('No window in these weeks')} command={"sexton content window banner/7 '2027-01-04 09:00' '2027-01-04 17:00' --timezone Europe/Berlin"}>{t('A window publishes at one time and unpublishes at another: a banner for a sale.')}</Empty></Panel>
        return (
          <Panel title={t('Windows')} right={tn('{count} window', '{count} windows', found.length)} flush>
            <div className={classes.scale} aria-hidden><span />{<div>{weeks.map((week) => <i key={week} style={{ left: `${place(instantOf(`${week}T00:00`, zone))}%` }}>{dayTitle(week)}</i>)}</div>}</div>
            <ul className={classes.windows}>
              {found.map((each) => <Window key={each.id + each.starts} window={each} place={place} now={place(now.getTime())} />)}
            </ul>
            {cut && <p className={classes.none}>{t('There are more entries in these weeks than can be looked through: some windows may be missing.')}</p>}
          </Panel>
        )
      }}
    </Answer>
  )
}

function Window({ window: each, place, now }: { window: Open; place: (at: string) => number; now: number }) {
  const from = each.starts ? Math.max(0, place(each.starts)) : 0
  const to = each.ends ? Math.min(100, place(each.ends)) : 100
  return (
    <li>
      <div className={classes.windowName}>
        <Link to={`/content/schedules/${each.id}`} className="link clip">{nameOf(each.entry)}</Link>
        <span className="quiet clip">{each.entry.content_id}</span>
      </div>
      <div className={classes.track}>
        <span className={classes.nowMark} style={{ left: `${now}%` }} aria-hidden />
        <span className={classes.bar} data-open={from <= now && now < to ? true : undefined} data-loose={each.ends === null || undefined} style={{ left: `${from}%`, width: `${Math.max(0.6, to - from)}%` }} />
      </div>
      <div className={classes.windowTimes}>{each.starts ? <Time at={each.starts} zone={each.entry.timezone} show="clock" /> : '…'} – {each.ends ? <Time at={each.ends} zone={each.entry.timezone} show="clock" /> : '…'}{each.failed && <span className="bad"> {t('failed')}</span>}</div>
    </li>
  )
}
