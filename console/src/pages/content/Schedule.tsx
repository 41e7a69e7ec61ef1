import { Alert, Button } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useParams } from 'react-router'
import { call, page } from '@/api/client'
import type { ScheduleView } from '@/api/schema'
import { useSession, useZone } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import { Move } from '@/parts/calendar/Move'
import { useConfirm } from '@/parts/Confirm'
import { takeBack } from '@/parts/many'
import { tell, tellUndo } from '@/parts/notify'
import { Answer, Columns, Facts, Page, PageOf, Panel, Stack } from '@/parts/Page'
import { useActing } from '@/parts/sending'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import { nameOf } from './Board'
import { Executions } from './executions'
import classes from './Content.module.css'

/** No change is recorded when an action ends: while it goes, it is asked for again. */
const GOING_MS = 2000
const goes = (schedule: Pick<ScheduleView, 'status' | 'scheduled_at_utc'> | undefined) =>
  schedule !== undefined && (schedule.status === 'processing' || (schedule.status === 'pending' && new Date(schedule.scheduled_at_utc) <= new Date()))

/** One planned action. */
export function Schedule() {
  const { schedule: id = '' } = useParams()
  const asked = useQuery({ queryKey: ['content', 'schedule', id], queryFn: () => call('GET /content/schedules/{schedule}', { path: { schedule: id } }), refetchInterval: ({ state }) => (goes(state.data) ? GOING_MS : false) })
  const going = goes(asked.data)
  const carried = useQuery({ queryKey: ['content', 'executions', id], queryFn: () => page('GET /content/schedules/{schedule}/executions', { path: { schedule: id }, query: { limit: 50 } }), refetchInterval: going ? GOING_MS : false })
  return (
    <PageOf query={asked} list={{ to: '/content/planned', name: t('Planned actions') }}>
      {(schedule) => (
        <Page
          title={`${capital(t(schedule.action))}: ${nameOf(schedule)}`}
          mark={<><Status status={schedule.status} /><code className="quiet">{schedule.content_id}</code></>}
          crumbs={[{ to: '/content/board', name: t('Content') }, { to: `/content/entities/${encodeURIComponent(schedule.entity_type)}/${encodeURIComponent(schedule.entity_id)}`, name: nameOf(schedule) }]}
          about={<><Time at={schedule.scheduled_at_utc} zone={schedule.timezone} show="both" /> · {schedule.local_time_display}</>}
          actions={<Actions schedule={schedule} />}
        >
          <Columns side>
            <Stack>
              {schedule.last_error && <Alert color={schedule.status === 'failed' ? 'red' : 'yellow'} title={schedule.status === 'skipped' ? t('Why it was skipped') : t('What went wrong')}>{schedule.last_error}</Alert>}
              <Panel title={t('How it was carried out')} right={carried.data?.cursor && t('the latest {count}', { count: number(carried.data.items.length) })} flush><Answer query={carried}>{({ items }) => <Executions rows={items} />}</Answer></Panel>
              {schedule.recurrence_rule && schedule.next_times && schedule.next_times.length > 0 && <Panel title={t('Next times')}><ul className={classes.list}>{schedule.next_times.map((at) => <li key={at}><Time at={at} zone={schedule.timezone} show="both" /></li>)}</ul></Panel>}
            </Stack>
            <Panel title={t('Facts')}>
              <Facts
                brief
                items={[
                  [t('Planned by'), schedule.created_by], [t('Planned'), <Time key="c" at={schedule.created_at} />], [t('Version'), schedule.version ?? t('the latest')], [t('Adapter'), schedule.adapter], [t('Series'), schedule.recurrence_rule],
                  [t('Approval'), schedule.needs_approval ? (schedule.approved_by ?? t('needed')) : t('not needed')], [t('Release'), schedule.release_id && <Link key="r" className="link" to={`/content/releases/${schedule.release_id}`}>{schedule.release_id}</Link>],
                  [t('Job'), schedule.job_id && <Link key="j" className="link" to={`/jobs/${schedule.job_id}`}>{schedule.job_id}</Link>], [t('Note'), schedule.note], [t('Cancelled by'), schedule.cancelled_by],
                ]}
              />
            </Panel>
          </Columns>
        </Page>
      )}
    </PageOf>
  )
}

/** A word of a state or an action, at the beginning of a title. */
function capital(word: string): string {
  return word.slice(0, 1).toLocaleUpperCase() + word.slice(1)
}

function Actions({ schedule }: { schedule: ScheduleView }) {
  const session = useSession()
  const zone = useZone(schedule.timezone)
  const ask = useConfirm()
  const queries = useQueryClient()
  const [moving, setMoving] = useState(false)
  const path = { schedule: schedule.schedule_id }
  const name = nameOf(schedule)
  const refresh = () => queries.invalidateQueries({ queryKey: ['content'] })
  const [busy, once] = useActing()
  const act = (work: () => Promise<unknown>, done: string) => void once(async () => { await work(); tell(done); await refresh() })
  const move = async (at: string, force: boolean) => {
    await call('POST /content/schedules/{schedule}/reschedule', { path, body: { at, force } })
    await refresh()
  }
  const restore = () => takeBack('content/schedules', 'restore', [schedule.schedule_id], refresh)
  if (!session.may('editor')) return null
  if (schedule.status === 'cancelled' && !schedule.release_id && (schedule.recurrence_rule || new Date(schedule.scheduled_at_utc) > new Date())) return <Button variant="default" loading={busy} onClick={() => act(restore, t('{name} goes out at its time again', { name }))}>{t('Restore')}</Button>
  if (schedule.status !== 'pending') return null
  return (
    <>
      {schedule.needs_approval && !schedule.approved_by && <Button loading={busy} onClick={() => act(() => call('POST /content/schedules/{schedule}/approve', { path, body: {} }), t('{name} is approved', { name }))}>{t('Approve')}</Button>}
      <Button variant="default" onClick={() => setMoving(true)}>{t('Move')}</Button>
      <Button variant="default" onClick={() => ask({ title: t('Carry it out now'), object: `${t(schedule.action)} ${name}`, effect: t('It goes out at once instead of at its time.'), verb: t('Go out now'), act: async (reason) => { await call('POST /content/schedules/{schedule}/run', { path, reason }); await refresh() } })}>{t('Go out now')}</Button>
      {schedule.recurrence_rule && <Button variant="default" onClick={() => ask({ title: t('Skip the next time'), object: `${t(schedule.action)} ${name}`, effect: t('It does not go out {time}; the times after that stay.', { time: schedule.local_time_display }), verb: t('Skip the next'), destructive: true, act: async (reason) => { await call('POST /content/schedules/{schedule}/skip', { path, reason }); tell(t('The next time is left out')); await refresh() } })}>{t('Skip the next')}</Button>}
      <Button variant="default" c="var(--bad)" onClick={() => ask({ title: t('Cancel an action'), object: `${t(schedule.action)} ${name}`, effect: `${schedule.recurrence_rule ? t('It is a series: all its times to come are cancelled, the next is {time}.', { time: schedule.local_time_display }) : `${tn('{count} action', '{count} actions', 1)}: ${t('it was to go out {time}', { time: schedule.local_time_display })}.`} ${t('It does not go out. What was published stays as it is.')}`, verb: t('Cancel'), destructive: true, undoable: true, reason: 'required', act: async (reason) => { await call('POST /content/schedules/{schedule}/cancel', { path, body: {}, reason }); tellUndo(t('{name} is cancelled', { name }), restore); await refresh() } })}>{t('Cancel')}</Button>
      {moving && <Move event={{ key: schedule.schedule_id, at: schedule.scheduled_at_utc, title: name }} local={null} zone={zone} close={() => setMoving(false)} act={async (at, force) => { await move(at, force); tellUndo(t('{name} is moved', { name }), () => move(schedule.scheduled_at_utc, true)) }} />}
    </>
  )
}
