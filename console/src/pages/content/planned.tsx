/** Planned actions as a list: found, selected and changed together. */
import { IconArrowsMove, IconBan, IconCheck, IconRestore } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import { Link } from 'react-router'
import { listed } from '@/api/client'
import type { ScheduleView } from '@/api/schema'
import { useSession } from '@/frame/session'
import { t } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { DataTable, type BulkAction, type Filters, type Selection } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { askForMany, type ManyAction } from '@/parts/many'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import { ACTIONS, nameOf } from './Board'
import { approving, cancelling, moving, restoring } from './many'
import classes from './Content.module.css'

const STATUSES = ['pending', 'processing', 'done', 'failed', 'skipped', 'cancelled']
const pathOf = (each: ScheduleView) => `/content/schedules/${each.schedule_id}`

/** The four things that can be done to many planned actions, or to many releases. */
export function usePlanActions<T>(place: 'content/schedules' | 'content/releases', keyOf: (row: T) => string): BulkAction<T>[] {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  if (!session.may('editor')) return []
  const act = (what: () => ManyAction) => (selection: Selection<T>) => void askForMany(ask, what(), selection, keyOf, () => queries.invalidateQueries({ queryKey: ['content'] }))
  return [
    { label: t('Approve'), icon: <IconCheck size={14} />, act: act(() => approving(place)) },
    { label: t('Move'), icon: <IconArrowsMove size={14} />, act: act(() => moving(place)) },
    { label: t('Restore'), icon: <IconRestore size={14} />, act: act(() => restoring(place)) },
    { label: t('Cancel'), icon: <IconBan size={14} />, color: 'var(--bad)', act: act(() => cancelling(place)) },
  ]
}

export function Planned() {
  const bulk = usePlanActions<ScheduleView>('content/schedules', (each) => each.schedule_id)
  const columns = useMemo((): ColumnDef<ScheduleView>[] => [
    { id: 'entity', header: () => t('Entity'), cell: ({ row: { original: each } }) => <Link to={pathOf(each)} className="link">{nameOf(each)}</Link> },
    { id: 'action', header: () => t('Action'), cell: ({ row: { original: each } }) => <Action each={each} />, meta: { width: 112, hide: 'sm' } },
    { id: 'status', header: () => t('State'), cell: ({ row: { original: each } }) => <Status status={each.status} />, meta: { width: 112, narrow: 100 } },
    { id: 'when', header: () => t('When'), cell: ({ row: { original: each } }) => <Time at={each.scheduled_at_utc} zone={each.timezone} show="both" />, meta: { sort: 'scheduled_at', width: 196, narrow: 112 } },
    { id: 'belongs', header: () => t('Part of'), cell: ({ row: { original: each } }) => <Belongs each={each} />, meta: { hide: 'md', width: 84 } },
    { id: 'approval', header: () => t('Approval'), cell: ({ row: { original: each } }) => (each.needs_approval ? <Status status={each.approved_by ? 'done' : 'warning'} label={each.approved_by?.split('@')[0] ?? t('needed')} /> : <span className="quiet">–</span>), meta: { hide: 'lg', width: 132 } },
    { id: 'by', header: () => t('Planned by'), cell: ({ row: { original: each } }) => each.created_by, meta: { hide: 'md', width: 140 } },
  ], [])
  return (
    <DataTable<ScheduleView>
      name="content"
      label={t('Planned actions')}
      columns={columns}
      load={(filters: Filters, cursor, signal) => listed('GET /content/schedules', filters, cursor, signal)}
      keyOf={(each) => each.schedule_id}
      to={pathOf}
      filters={[
        { name: 'status', label: t('State'), options: STATUSES.map((value) => ({ value, label: t(value) })), width: 130 },
        { name: 'action', label: t('Action'), options: Object.keys(ACTIONS).map((value) => ({ value, label: t(value) })), width: 130 },
        { name: 'entity_type', label: t('Type'), kind: 'text', width: 130 },
        { name: 'entity_id', label: t('Id'), kind: 'text', width: 150 },
        { name: 'created_by', label: t('Planned by'), kind: 'text', width: 150 },
      ]}
      bulk={bulk}
      steady
      empty={<Empty title={t('Nothing is planned')} command={"sexton content schedule publish post/42 '2027-01-04 09:00' --timezone Europe/Berlin"}>{t('An action publishes, unpublishes or archives an entity at its time.')}</Empty>}
    />
  )
}

function Action({ each }: { each: ScheduleView }) {
  const Sign = ACTIONS[each.action]
  return <span className={classes.action}>{Sign && <Sign size={14} aria-hidden />}{t(each.action)}</span>
}

/** What it goes out with. */
function Belongs({ each }: { each: ScheduleView }) {
  if (each.release_id) return <Link to={`/content/releases/${each.release_id}`} className="link">{t('release')}</Link>
  const parts = [each.recurrence_rule && t('series'), each.window_id && t('window')].filter(Boolean)
  return <span className="quiet">{parts.join(', ') || '–'}</span>
}
