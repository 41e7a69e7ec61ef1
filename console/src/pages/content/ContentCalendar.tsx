import { Alert } from '@mantine/core'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useNavigate } from 'react-router'
import { call } from '@/api/client'
import type { CalendarEntry } from '@/api/schema'
import { useSession, useZone } from '@/frame/session'
import { t } from '@/i18n'
import { Calendar, type CalendarEvent } from '@/parts/calendar/Calendar'
import { addDays, daysOf, instantOf } from '@/parts/calendar/days'
import { Move } from '@/parts/calendar/Move'
import { wallOf } from '@/parts/instant'
import { useCalendar } from '@/parts/calendar/useCalendar'
import { tellUndo } from '@/parts/notify'
import { Failure } from '@/parts/Page'

type Entry = CalendarEvent & { entry: CalendarEntry }

export function ContentCalendar() {
  const zone = useZone()
  const session = useSession()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const { view, day, go } = useCalendar(zone)
  const [moving, setMoving] = useState<{ event: Entry; local: string | null } | null>(null)
  const days = daysOf(view, day)
  const start = instantOf(`${days[0]}T00:00`, zone)
  const end = instantOf(`${addDays(days.at(-1) ?? day, 1)}T00:00`, zone)
  const asked = useQuery({
    queryKey: ['content', 'calendar', start, end],
    queryFn: ({ signal }) => call('GET /content/calendar', { query: { start, end, limit: 1000 }, signal }),
    placeholderData: keepPreviousData,
  })
  const events: Entry[] = (asked.data ?? []).map((entry) => ({
    key: `${entry.schedule_id}-${entry.scheduled_at_utc}`,
    at: entry.scheduled_at_utc,
    title: entry.title ?? entry.note ?? entry.content_id,
    detail: `${t(entry.action)} ${entry.content_id}`,
    kind: entry.release_id ? 'release' : 'content',
    past: entry.status !== 'pending',
    status: entry.needs_approval && !entry.approved_by && entry.status === 'pending' ? 'warning' : entry.status,
    movable: entry.status === 'pending' && !entry.recurrence_rule && !entry.release_id,
    count: entry.occurrences ?? null,
    entry,
  }))
  const act = async ({ entry, title }: Entry, local: string, force: boolean) => {
    await call('POST /content/schedules/{schedule}/reschedule', { path: { schedule: entry.schedule_id }, body: { local_time: local, timezone: zone, force }, revision: entry.revision })
    const back = { local_time: wallOf(new Date(entry.scheduled_at_utc), zone), timezone: zone, force: true }
    tellUndo(t('{name} is moved', { name: title }), async () => { await call('POST /content/schedules/{schedule}/reschedule', { path: { schedule: entry.schedule_id }, body: back }); await queries.invalidateQueries({ queryKey: ['content'] }) })
    await queries.invalidateQueries({ queryKey: ['content'] })
  }
  return (
    <>
      {asked.error && <Alert mb="sm" color="red" p={0}><Failure error={asked.error} /></Alert>}
      <Calendar
        view={view}
        day={day}
        zone={zone}
        events={events}
        go={go}
        open={(event) => void navigate(`/content/schedules/${(event as Entry).entry.schedule_id}`)}
        {...(session.may('editor') ? { move: (event: CalendarEvent, local: string | null) => setMoving({ event: event as Entry, local }) } : {})}
      />
      {moving && <Move event={moving.event} local={moving.local} zone={zone} close={() => setMoving(null)} act={(local, force) => act(moving.event, local, force)} />}
    </>
  )
}
