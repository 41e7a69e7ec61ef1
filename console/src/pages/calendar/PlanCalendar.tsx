/** What is planned and what happened, of some kinds, from the code that fires; what has one instant is moved. */
import { Alert } from '@mantine/core'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState, type ReactNode } from 'react'
import { useNavigate } from 'react-router'
import { call } from '@/api/client'
import type { AgendaEntry } from '@/api/schema'
import { useSession, useZone } from '@/frame/session'
import { t } from '@/i18n'
import { Calendar, type CalendarEvent } from '@/parts/calendar/Calendar'
import { addDays, daysOf, instantOf, type View } from '@/parts/calendar/days'
import { Move } from '@/parts/calendar/Move'
import { useCalendar } from '@/parts/calendar/useCalendar'
import { dayOf } from '@/parts/instant'
import { tellUndo } from '@/parts/notify'
import { Failure } from '@/parts/Page'
import classes from './CalendarPage.module.css'

type Entry = CalendarEvent & { item: AgendaEntry }
const NONE: never[] = []

export function PlanCalendar({ kinds, label, first, right }: { kinds: string[]; label?: string; first: View; right?: ReactNode }) {
  const zone = useZone()
  const session = useSession()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const { view, day, go } = useCalendar(zone, first)
  const [moving, setMoving] = useState<{ event: Entry; local: string | null } | null>(null)
  const days = daysOf(view, day)
  const start = instantOf(`${days[0]}T00:00`, zone)
  const end = instantOf(`${addDays(days.at(-1) ?? day, 1)}T00:00`, zone)
  const asked = useQuery({
    queryKey: ['calendar', start, end, zone, kinds.join(), label],
    queryFn: ({ signal }) => call('GET /calendar', { query: { start, end, timezone: zone, kinds: kinds.join(','), label: label || null }, signal }),
    placeholderData: keepPreviousData,
    enabled: kinds.length > 0,
  })
  // What was shown before stays while something is asked for, and not if nothing is.
  const shown = kinds.length > 0 ? asked.data : undefined
  const events = useMemo(() => (shown?.entries ?? []).map((item) => ({ ...eventOf(item), movable: item.movable && session.may(item.kind === 'content' ? 'editor' : 'operator') })), [shown, session])
  const changes = useMemo(() => (shown?.clock_changes ?? []).map((change) => ({ date: dayOf(new Date(change.at), zone), note: change.text })), [shown, zone])
  const refresh = () => Promise.all([queries.invalidateQueries({ queryKey: ['calendar'] }), queries.invalidateQueries({ queryKey: ['content'] })])
  // What another has moved meanwhile is not moved away from under them.
  const move = async ({ item }: Entry, at: string, force: boolean, revision: number | null | undefined): Promise<{ revision: number }> => {
    if (item.kind === 'content') return call('POST /content/schedules/{schedule}/reschedule', { path: { schedule: item.id }, body: { at, force } })
    return call('POST /jobs/{job}/reschedule', { path: { job: item.job_id ?? item.id }, body: { at }, revision: revision ?? undefined })
  }
  const act = async (event: Entry, at: string, force: boolean) => {
    try {
      const { revision } = await move(event, at, force, event.item.revision)
      tellUndo(t('{name} is moved', { name: event.title }), async () => { await move(event, event.at, true, revision); await refresh() })
    } finally {
      await refresh()
    }
  }
  return (
    <>
      {asked.error && <Alert color="red" p={0}><Failure error={asked.error} /></Alert>}
      <Calendar
        view={view}
        day={day}
        zone={zone}
        events={events}
        density={shown?.density ?? NONE}
        clockChanges={changes}
        note={shown && (view !== 'agenda' && shown.entries.length + shown.density.length === 0 ? <p className={classes.note}>{t('Nothing is planned in these days.')}</p> : !shown.complete && <p className={classes.note}>{shown.estimated ? t('There is too much to count all of it: the counts are estimated, and not every entry has a name here.') : t('There is more than can be named here: of what is over, failures and jobs that fire seldom are shown; the counts are of everything.')}</p>)}
        go={go}
        open={(event) => void navigate(pathOf((event as Entry).item))}
        move={(event, local) => setMoving({ event: event as Entry, local })}
        right={right}
      />
      {moving && <Move event={moving.event} local={moving.local} zone={zone} close={() => setMoving(null)} act={(at, force) => act(moving.event, at, force)} />}
    </>
  )
}

function eventOf(item: AgendaEntry): Entry {
  return {
    key: `${item.kind}-${item.id}-${item.at}`,
    at: item.at,
    title: item.title,
    detail: [item.action && t(item.action), item.subject !== item.title && item.subject, item.needs_approval && t('needs approval')].filter(Boolean).join(' ') || null,
    status: item.needs_approval ? 'warning' : item.status,
    kind: item.kind,
    past: item.status !== 'upcoming' && item.status !== 'pending',
    count: item.count,
    series: item.kind === 'job' ? item.id : null,
    schedule: item.schedule,
    late: item.late_seconds,
    item,
  }
}

/** The run, if there was one; else what is planned. */
function pathOf(item: AgendaEntry): string {
  if (item.kind === 'content') return `/content/schedules/${encodeURIComponent(item.id)}`
  if (item.kind === 'release') return `/content/releases/${encodeURIComponent(item.id)}`
  if (item.run_id) return `/runs/${encodeURIComponent(item.run_id)}`
  if (item.kind === 'campaign') return `/notifications/campaigns/${encodeURIComponent(item.id)}`
  return `/jobs/${encodeURIComponent(item.job_id ?? item.id)}`
}
