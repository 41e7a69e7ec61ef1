import { Alert, Button } from '@mantine/core'
import { IconAlertTriangle, IconCheck, IconClock, IconUserQuestion, IconX } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo, useState } from 'react'
import { Link, useParams } from 'react-router'
import { call, listed } from '@/api/client'
import type { ReleaseView } from '@/api/schema'
import { useSession, useZone } from '@/frame/session'
import { t, tn } from '@/i18n'
import { Move } from '@/parts/calendar/Move'
import { useConfirm } from '@/parts/Confirm'
import { DataTable, type Filters } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { duration } from '@/parts/instant'
import { takeBack } from '@/parts/many'
import { tell, tellUndo } from '@/parts/notify'
import { Columns, Facts, Page, PageOf, Panel, Stack } from '@/parts/Page'
import { useActing } from '@/parts/sending'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import { usePlanActions } from './planned'
import { Items, itemsOf } from './release-items'
import classes from './Content.module.css'

export function Releases() {
  const bulk = usePlanActions<ReleaseView>('content/releases', (release) => release.release_id)
  const columns = useMemo((): ColumnDef<ReleaseView>[] => [
    { id: 'release', header: () => t('Release'), cell: ({ row: { original: release } }) => <Link to={`/content/releases/${release.release_id}`} className="link">{release.note ?? release.release_id}</Link> },
    { id: 'state', header: () => t('State'), cell: ({ row: { original: release } }) => <Status status={release.status} />, meta: { width: 112, narrow: 100 } },
    { id: 'when', header: () => t('When'), cell: ({ row: { original: release } }) => <Time at={release.scheduled_at_utc} zone={release.timezone} show="both" />, meta: { sort: 'scheduled_at', width: 196, narrow: 112 } },
    { id: 'items', header: () => t('Items'), cell: ({ row: { original: release } }) => tn('{count} item', '{count} items', itemsOf(release).length), meta: { hide: 'sm', width: 84 } },
    { id: 'checks', header: () => t('Checks'), cell: ({ row: { original: release } }) => <Checks release={release} />, meta: { hide: 'md', width: 124 } },
    { id: 'approval', header: () => t('Approval'), cell: ({ row: { original: release } }) => (release.needs_approval ? <Status status={release.approved_by ? 'done' : 'warning'} label={release.approved_by ?? t('needed')} /> : <span className="quiet">{t('not needed')}</span>), meta: { hide: 'md', width: 150 } },
    { id: 'by', header: () => t('Planned by'), cell: ({ row: { original: release } }) => <span className="clip">{release.created_by}</span>, meta: { hide: 'md', width: 140 } },
  ], [])
  return (
    <DataTable<ReleaseView>
      name="content"
      label={t('Releases')}
      columns={columns}
      load={(filters: Filters, cursor, signal) => listed('GET /content/releases', filters, cursor, signal)}
      keyOf={(release) => release.release_id}
      to={(release) => `/content/releases/${release.release_id}`}
      filters={[{ name: 'search', label: t('Part of the note'), kind: 'text' }, { name: 'created_by', label: t('Planned by'), kind: 'text', width: 160 }, { name: 'start', label: t('Since'), kind: 'since', width: 150 }]}
      bulk={bulk}
      steady
      empty={<Empty title={t('No release is planned')} command={"sexton content release '2027-01-04 09:00' --timezone Europe/Berlin --item publish:post/42 --item unpublish:banner/7"}>{t('A release lets several actions go out together, or none.')}</Empty>}
    />
  )
}

/** What its check found, but for the approval: that is said by itself, and may have come since. */
function problemsOf(release: Pick<ReleaseView, 'findings'>): NonNullable<ReleaseView['findings']> {
  return (release.findings ?? []).filter((finding) => finding.code !== 'not_approved')
}

function Checks({ release }: { release: ReleaseView }) {
  const found = problemsOf(release)
  if (!release.checked_at) return <span className="quiet">{t('not checked yet')}</span>
  const errors = found.filter((finding) => !finding.warning).length
  return <Status status={errors ? 'error' : found.length ? 'warning' : 'done'} label={errors ? tn('{count} problem', '{count} problems', errors) : found.length ? tn('{count} warning', '{count} warnings', found.length) : t('passed')} />
}

export function Release() {
  const { release: id = '' } = useParams()
  const asked = useQuery({ queryKey: ['content', 'release', id], queryFn: () => call('GET /content/releases/{release}', { path: { release: id } }) })
  return (
    <PageOf query={asked} list={{ to: '/content/releases', name: t('Releases') }}>
      {(release) => (
        <Page title={release.note ?? release.release_id} mark={<Status status={release.status} />} crumbs={[{ to: '/content/releases', name: t('Releases') }]} about={<><Time at={release.scheduled_at_utc} zone={release.timezone} show="both" /> · {release.local_time_display}</>} actions={<Actions release={release} />}>
          {release.last_error && <Alert color="red">{release.last_error}</Alert>}
          <Blocked release={release} />
          <Columns side>
            <Stack>
              <Items release={release} />
              <Panel title={t('Before it goes out')} right={release.checked_at ? <>{t('checked')} <Time at={release.checked_at} /></> : t('not checked yet')} flush><Steps release={release} /></Panel>
            </Stack>
            <Panel title={t('Facts')}><Facts brief items={[[t('If an item fails'), t(release.on_failure)], [t('Planned by'), release.created_by], [t('Planned'), <Time key="c" at={release.created_at} />], [t('Approval'), release.needs_approval ? (release.approved_by ?? t('needed')) : t('not needed')], [t('Adapter'), release.adapter], [t('Job'), <Link key="j" className="link" to={`/jobs/${release.job_id}`}>{release.job_id}</Link>], [t('Cancelled by'), release.cancelled_by]]} /></Panel>
          </Columns>
        </Page>
      )}
    </PageOf>
  )
}

/** As things are it does not go out: said above everything else. */
function Blocked({ release }: { release: ReleaseView }) {
  if (release.status !== 'pending') return null
  const errors = problemsOf(release).filter((finding) => !finding.warning).length
  const waits = release.needs_approval && !release.approved_by
  if (!errors && !waits) return null
  const why = [errors > 0 && tn('its check found {count} problem', 'its check found {count} problems', errors), waits && t('it needs an approval')].filter(Boolean).join(', ')
  return <Alert color="yellow">{t('As things are, it does not go out: {why}.', { why })}</Alert>
}

/** What stands between it and its time: the approval, and what its check has found. */
function Steps({ release }: { release: ReleaseView }) {
  const found = problemsOf(release)
  return (
    <ul className={classes.steps}>
      {release.needs_approval && (release.approved_by
        ? <li data-tone="good"><IconCheck size={16} aria-hidden /><div>{t('Approved by {name}', { name: release.approved_by })}<p><Time at={release.approved_at} show="both" /></p></div></li>
        : <li data-tone="warn"><IconUserQuestion size={16} aria-hidden /><div>{t('It needs an approval')}<p>{t('Without one it does not go out; its time passes.')}</p></div></li>)}
      {found.map((finding) => <li key={finding.code + finding.message} data-tone={finding.warning ? 'warn' : 'bad'}>{finding.warning ? <IconAlertTriangle size={16} aria-hidden /> : <IconX size={16} aria-hidden />}<div>{finding.message}<p>{[finding.content_id, finding.code].filter(Boolean).join(' · ')}</p></div></li>)}
      {found.length === 0 && (release.checked_at ? <li data-tone="good"><IconCheck size={16} aria-hidden /><div>{t('The check found nothing against it')}</div></li> : <li><IconClock size={16} aria-hidden /><div>{t('Its check is yet to come')}<p>{release.preflight_seconds ? t('{time} before it goes out', { time: duration(release.preflight_seconds) }) : t('It is checked when you ask for it.')}</p></div></li>)}
    </ul>
  )
}

function Actions({ release }: { release: ReleaseView }) {
  const session = useSession()
  const zone = useZone(release.timezone)
  const ask = useConfirm()
  const queries = useQueryClient()
  const [moving, setMoving] = useState(false)
  const path = { release: release.release_id }
  const name = release.note ?? release.release_id
  const refresh = () => queries.invalidateQueries({ queryKey: ['content'] })
  const [busy, once] = useActing()
  const act = (work: () => Promise<unknown>, done: string) => void once(async () => { await work(); tell(done); await refresh() })
  const count = tn('{count} item', '{count} items', itemsOf(release).length)
  const move = async (at: string, force: boolean) => {
    await call('POST /content/releases/{release}/reschedule', { path, body: { at, force } })
    await refresh()
  }
  const restore = () => takeBack('content/releases', 'restore', [release.release_id], refresh)
  if (!session.may('editor')) return null
  if (release.status === 'cancelled' && new Date(release.scheduled_at_utc) > new Date()) return <Button variant="default" loading={busy} onClick={() => act(restore, t('{name} goes out at its time again', { name }))}>{t('Restore')}</Button>
  if (release.status !== 'pending') return null
  return (
    <>
      {release.needs_approval && !release.approved_by && <Button loading={busy} onClick={() => act(() => call('POST /content/releases/{release}/approve', { path, body: {} }), t('{name} is approved', { name }))}>{t('Approve')}</Button>}
      <Button variant="default" loading={busy} onClick={() => act(() => call('POST /content/releases/{release}/check', { path }), t('{name} was checked', { name }))}>{t('Check now')}</Button>
      <Button variant="default" onClick={() => setMoving(true)}>{t('Move')}</Button>
      <Button variant="default" onClick={() => ask({ title: t('Let a release go out now'), object: name, effect: `${count}. ${t('It goes out at once instead of at its time.')}`, verb: t('Go out now'), act: async (reason) => { await call('POST /content/releases/{release}/run', { path, reason }); await refresh() } })}>{t('Go out now')}</Button>
      <Button variant="default" c="var(--bad)" onClick={() => ask({ title: t('Cancel a release'), object: name, effect: `${count}: ${t('it was to go out {time}', { time: release.local_time_display })}. ${t('It does not go out. What was published stays as it is.')}`, verb: t('Cancel'), destructive: true, undoable: true, reason: 'required', act: async (reason) => { await call('POST /content/releases/{release}/cancel', { path, body: {}, reason }); tellUndo(t('{name} is cancelled', { name }), restore); await refresh() } })}>{t('Cancel')}</Button>
      {moving && <Move event={{ key: release.release_id, at: release.scheduled_at_utc, title: name }} local={null} zone={zone} close={() => setMoving(false)} act={async (at, force) => { await move(at, force); tellUndo(t('{name} is moved', { name }), () => move(release.scheduled_at_utc, true)) }} />}
    </>
  )
}
