/** What is out from when to when: each window a bar on a line of five weeks. */
import { ActionIcon, Button, Group } from '@mantine/core'
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Link, useSearchParams } from 'react-router'
import { page } from '@/api/client'
import { useZone } from '@/frame/session'
import { t, tn } from '@/i18n'
import { addDays, dayIn, dayTitle, instantOf } from '@/parts/calendar/days'
import { FilterBar } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { dayOf } from '@/parts/instant'
import { Answer, Panel } from '@/parts/Page'
import { everyRow } from '@/parts/rows'
import { Time, useNow } from '@/parts/Time'
import { nameOf } from './Board'
import { spanning, windowsOf, type Open } from './opened'
import classes from './Content.module.css'

const BEFORE = 7
const DAYS = 35
const STEP = 28
/** So many entries of the calendar are looked through for windows, and so many ends after it. */
const MOST_ENTRIES = 5000
const MOST_ENDS = 500
const FILTERS = ['entity_type', 'entity_id', 'created_by']

export function Windows() {
  const zone = useZone()
  const now = useNow()
  const [search, setSearch] = useSearchParams()
  const chosen = Object.fromEntries([...search].filter(([name]) => FILTERS.includes(name)))
  const usual = addDays(dayOf(now, zone), -BEFORE)
  const first = dayIn(search.get('from')) ?? usual
  const [start, end] = [instantOf(`${first}T00:00`, zone), instantOf(`${addDays(first, DAYS)}T00:00`, zone)]
  const asked = useQuery({
    queryKey: ['content', 'windows', start, chosen],
    queryFn: async ({ signal }) => {
      const [entries, ends] = await Promise.all([
        everyRow((cursor) => page('GET /content/calendar', { query: { start, end, limit: 1000, cursor, ...chosen }, signal }), MOST_ENTRIES),
        page('GET /content/schedules', { query: { status: 'pending', action: 'unpublish', start: end, limit: MOST_ENDS, ...chosen }, signal }),
      ])
      return { windows: [...spanning(ends.items, start), ...windowsOf(entries.items)], cut: entries.cut || ends.cursor !== null }
    },
    placeholderData: keepPreviousData,
  })
  const weeks = useMemo(() => Array.from({ length: DAYS / 7 }, (_, week) => addDays(first, week * 7)), [first])
  const place = (at: string | number) => ((new Date(at).getTime() - Date.parse(start)) / (Date.parse(end) - Date.parse(start))) * 100
  const go = (from: string | null) => setSearch((before) => {
    const next = new URLSearchParams(before)
    if (from) next.set('from', from)
    else next.delete('from')
    return next
  }, { replace: true })
  return (
    <>
      <div className={classes.windowBar}>
        <FilterBar filters={[{ name: 'entity_type', label: t('Type'), kind: 'text', width: 150 }, { name: 'entity_id', label: t('Id'), kind: 'text', width: 180 }, { name: 'created_by', label: t('Planned by'), kind: 'text', width: 160 }]} />
        <Group gap={6} wrap="nowrap">
          <ActionIcon variant="default" aria-label={t('Earlier')} onClick={() => go(addDays(first, -STEP))}><IconChevronLeft size={16} /></ActionIcon>
          <Button variant="default" onClick={() => go(null)}>{t('Today')}</Button>
          <ActionIcon variant="default" aria-label={t('Later')} onClick={() => go(addDays(first, STEP))}><IconChevronRight size={16} /></ActionIcon>
        </Group>
      </div>
      <Answer query={asked}>
        {({ windows, cut }) => windows.length === 0 ? (
          <Panel>
            {Object.keys(chosen).length
              ? <p className={classes.none}>{t('Nothing matches these filters.')}</p>
              : <Empty title={t('No window in these weeks')} command={"sexton content window banner/7 '2027-01-04 09:00' '2027-01-04 17:00' --timezone Europe/Berlin"}>{t('A window publishes at one time and unpublishes at another: a banner for a sale.')}</Empty>}
          </Panel>
        ) : (
          <Panel title={t('Windows')} right={cut ? t('{count} and more: narrow the filters to see the others', { count: windows.length }) : tn('{count} window', '{count} windows', windows.length)} flush>
            <div className={classes.scale} aria-hidden><span />{<div>{weeks.map((week) => <i key={week} style={{ left: `${place(instantOf(`${week}T00:00`, zone))}%` }}>{dayTitle(week)}</i>)}</div>}</div>
            <ul className={classes.windows}>
              {windows.map((each) => <Window key={each.id + (each.starts ?? '')} window={each} place={place} now={place(now.getTime())} />)}
            </ul>
          </Panel>
        )}
      </Answer>
    </>
  )
}

function Window({ window: each, place, now }: { window: Open; place: (at: string) => number; now: number }) {
  const from = each.starts ? Math.max(0, place(each.starts)) : 0
  const to = each.ends ? Math.min(100, place(each.ends)) : 100
  return (
    <li>
      <div className={classes.windowName}>
        <Link to={`/content/schedules/${each.id}`} className="link clip">{nameOf(each.entry)}</Link>
        {each.entry.title && <span className="quiet clip">{each.entry.content_id}</span>}
      </div>
      <div className={classes.track}>
        {now >= 0 && now <= 100 && <span className={classes.nowMark} style={{ left: `${now}%` }} aria-hidden />}
        <span className={classes.bar} data-open={from <= now && now < to ? true : undefined} data-begun={each.starts === null || place(each.starts) < 0 || undefined} data-loose={each.ends === null || place(each.ends) > 100 || undefined} style={{ left: `${from}%`, width: `${Math.max(0.6, to - from)}%` }} />
      </div>
      <div className={classes.windowTimes}>{each.starts ? <Time at={each.starts} zone={each.entry.timezone} show="clock" /> : '…'} – {each.ends ? <Time at={each.ends} zone={each.entry.timezone} show="clock" /> : '…'}{each.failed && <span className="bad"> {t('failed')}</span>}</div>
    </li>
  )
}
