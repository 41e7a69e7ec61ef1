/** Everything that is planned, from the code that fires, and what happened. */
import { Alert, Button, Chip, Group, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconCalendarPlus, IconTag } from '@tabler/icons-react'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useNavigate, useSearchParams } from 'react-router'
import { call } from '@/api/client'
import type { AgendaEntry } from '@/api/schema'
import { useSession, useZone } from '@/frame/session'
import { t } from '@/i18n'
import { Calendar, type CalendarEvent } from '@/parts/calendar/Calendar'
import { addDays, daysOf, instantOf } from '@/parts/calendar/days'
import { Move } from '@/parts/calendar/Move'
import { useCalendar } from '@/parts/calendar/useCalendar'
import { dayOf, wallOf } from '@/parts/instant'
import { tellUndo } from '@/parts/notify'
import { Failure, Page } from '@/parts/Page'
import classes from './CalendarPage.module.css'
import { Subscribe } from './Subscribe'

type Entry = CalendarEvent & { item: AgendaEntry }
const NONE: never[] = []

export function eventOf(item: AgendaEntry): Entry {
  return {
    key: `${item.kind}-${item.id}-${item.at}`,
    at: item.at,
    title: item.title,
    detail: [item.action && t(item.action), item.subject !== item.title && item.subject].filter(Boolean).join(' ') || null,
    status: item.status,
    kind: item.kind,
    past: item.status !== 'upcoming' && item.status !== 'pending',
    movable: item.movable,
    count: item.count,
    series: item.kind === 'job' ? item.id : null,
    schedule: item.schedule,
    late: item.late_seconds,
    item,
  }
}

export default function CalendarPage() {
  const zone = useZone()
  const session = useSession()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [search, setSearch] = useSearchParams()
  const { view, day, go } = useCalendar(zone, 'week')
  const [moving, setMoving] = useState<{ event: Entry; local: string | null } | null>(null)
  const [subscribing, setSubscribing] = useState(false)
  const kinds = (search.get('kinds') ?? 'jobs,content,campaigns').split(',').filter(Boolean)
  const label = search.get('label') ?? ''
  const set = (name: string, value: string) => setSearch((before) => { const next = new URLSearchParams(before); if (value || name === 'kinds') next.set(name, value); else next.delete(name); return next }, { replace: true })
  const setLabel = useDebouncedCallback((value: string) => set('label', value.trim()), 300)
  const days = daysOf(view, day)
  const start = instantOf(`${days[0]}T00:00`, zone)
  const end = instantOf(`${addDays(days.at(-1) ?? day, 1)}T00:00`, zone)
  const asked = useQuery({
    queryKey: ['calendar', start, end, zone, kinds.join(), label],
    queryFn: ({ signal }) => call('GET /calendar', { query: { start, end, timezone: zone, kinds: kinds.join(','), label: label || null }, signal }),
    placeholderData: keepPreviousData,
    enabled: kinds.length > 0,
  })
  const events = useMemo(() => (asked.data?.entries ?? []).map(eventOf), [asked.data])
  const changes = useMemo(() => (asked.data?.clock_changes ?? []).map((change) => ({ date: dayOf(new Date(change.at), zone), note: change.text })), [asked.data, zone])
  const refresh = () => queries.invalidateQueries({ queryKey: ['calendar'] })
  const move = async (event: Entry, local: string, force: boolean) => {
    if (event.item.kind === 'content') await call('POST /content/schedules/{schedule}/reschedule', { path: { schedule: event.item.id }, body: { local_time: local, timezone: zone, force } })
    else await call('POST /jobs/{job}/reschedule', { path: { job: event.item.job_id ?? event.item.id }, body: { at: instantOf(local, zone) } })
  }
  const act = async (event: Entry, local: string, force: boolean) => {
    await move(event, local, force)
    tellUndo(t('{name} is moved', { name: event.title }), async () => { await move(event, wallOf(new Date(event.at), zone), true); await refresh() })
    await refresh()
  }
  const open = (event: CalendarEvent) => {
    const { item } = event as Entry
    if (item.kind === 'content') void navigate(`/content/schedules/${encodeURIComponent(item.id)}`)
    else if (item.kind === 'release') void navigate(`/content/releases/${encodeURIComponent(item.id)}`)
    else if (item.run_id) void navigate(`/runs/${encodeURIComponent(item.run_id)}`)
    else if (item.kind === 'campaign') void navigate(`/notifications/campaigns/${encodeURIComponent(item.id)}`)
    else void navigate(`/jobs/${encodeURIComponent(item.job_id ?? item.id)}`)
  }
  return (
    <Page title={t('Calendar')} actions={<Button variant="default" leftSection={<IconCalendarPlus size={14} />} onClick={() => setSubscribing(true)}>{t('Subscribe')}</Button>}>
      {asked.error && <Alert color="red" p={0}><Failure error={asked.error} /></Alert>}
      <Calendar
        view={view}
        day={day}
        zone={zone}
        events={events}
        density={asked.data?.density ?? NONE}
        clockChanges={changes}
        note={asked.data && !asked.data.complete && <p className={classes.note}>{asked.data.estimated ? t('There is too much to count all of it: the counts are estimated, and not every entry has a name here.') : t('There is more than can be named here: of what is over, failures and jobs that fire seldom are shown; the counts are of everything.')}</p>}
        go={go}
        open={open}
        {...(session.may('operator') ? { move: (event: CalendarEvent, local: string | null) => setMoving({ event: event as Entry, local }) } : {})}
        right={
          <Chip.Group multiple value={kinds} onChange={(value) => set('kinds', value.join(','))}>
            <Group gap={4}>
              {kinds.includes('jobs') && <TextInput aria-label={t('Label of jobs: name=value')} placeholder={t('Label')} leftSection={<IconTag size={13} />} defaultValue={label} onChange={(event) => setLabel(event.currentTarget.value)} w={104} size="xs" />}
              {[['jobs', t('Jobs')], ['content', t('Content')], ['campaigns', t('Campaigns')]].map(([value = '', name]) => <Chip key={value} value={value} size="xs" variant="light">{name}</Chip>)}
            </Group>
          </Chip.Group>
        }
      />
      {moving && <Move event={moving.event} local={moving.local} zone={zone} close={() => setMoving(null)} act={(local, force) => act(moving.event, local, force)} />}
      {subscribing && <Subscribe kinds={kinds} label={label} close={() => setSubscribing(false)} />}
    </Page>
  )
}
