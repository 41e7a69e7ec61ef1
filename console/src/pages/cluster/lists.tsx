/** Nodes and shards as lists; both arrive whole. */
import { Button, Progress } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { call } from '@/api/client'
import type { NodeView, ShardView } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, t } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { DataTable } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { duration } from '@/parts/instant'
import { tellUndo } from '@/parts/notify'
import { presentFirst } from '@/parts/node'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import tables from '../queues/Queues.module.css'

/** A clock that is off by more is told. */
const SKEWED_MS = 500

export function Nodes({ nodes }: { nodes: NodeView[] }) {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  const send = async (node: NodeView, undo: boolean, reason?: string) => {
    await call('POST /nodes/{node}/drain', { path: { node: node.node_id }, body: { undo }, reason })
    await queries.invalidateQueries({ queryKey: ['cluster'] })
  }
  const drain = (node: NodeView, undo: boolean) => ask({
    title: undo ? t('Let a node go on') : t('Drain a node'),
    object: node.name,
    effect: undo ? t('It takes shards and runs again.') : t('It hands {shards} shards over, takes no more runs and finishes the {running} it has.', { shards: number(node.shards ?? 0), running: number(node.running ?? 0) }),
    verb: undo ? t('Go on') : t('Drain'),
    destructive: !undo,
    undoable: true,
    reason: undo ? 'optional' : 'required',
    act: async (reason) => {
      await send(node, undo, reason)
      tellUndo(undo ? t('{name} goes on', { name: node.name }) : t('{name} drains', { name: node.name }), () => send(node, !undo))
    },
  })
  const states = [...new Set(nodes.map((node) => node.state))].sort()
  const columns: ColumnDef<NodeView>[] = [
    { id: 'name', header: () => t('Node'), cell: ({ row: { original: node } }) => <strong>{node.name}</strong>, meta: { sort: 'name', value: (node) => node.name } },
    { id: 'state', header: () => t('State'), cell: ({ row: { original: node } }) => <Status status={node.state} />, meta: { sort: 'state', value: (node) => node.state } },
    { id: 'roles', header: () => t('Roles'), cell: ({ row: { original: node } }) => node.roles.map((role) => t(role)).join(', '), meta: { hide: 'sm' } },
    { id: 'shards', header: () => t('Shards'), cell: ({ row: { original: node } }) => number(node.shards), meta: { sort: 'shards', value: (node) => node.shards, align: 'right', hide: 'sm' } },
    { id: 'running', header: () => t('Running'), cell: ({ row: { original: node } }) => <Slots node={node} />, meta: { sort: 'running', value: (node) => node.running, hide: 'md' } },
    { id: 'heartbeat', header: () => t('Heartbeat'), cell: ({ row: { original: node } }) => <Time at={node.heartbeat_at} />, meta: { sort: 'heartbeat', value: (node) => node.heartbeat_at } },
    { id: 'skew', header: () => t('Clock off by'), cell: ({ row: { original: node } }) => <span className={Math.abs(node.skew_ms ?? 0) > SKEWED_MS ? 'warn' : ''}>{node.skew_ms == null ? '–' : duration(node.skew_ms / 1000)}</span>, meta: { sort: 'skew', value: (node) => node.skew_ms, align: 'right', hide: 'md' } },
    { id: 'started', header: () => t('Started'), cell: ({ row: { original: node } }) => <Time at={node.started_at} />, meta: { sort: 'started', value: (node) => node.started_at, hide: 'lg' } },
    { id: 'version', header: () => t('Version'), cell: ({ row: { original: node } }) => node.version, meta: { sort: 'version', value: (node) => node.version, hide: 'lg' } },
    { id: 'actions', header: () => <span className="hidden-label">{t('Actions')}</span>, cell: ({ row: { original: node } }) => session.mayEverywhere('admin') && (node.state === 'live' || node.state === 'draining') && <Button variant="subtle" color="gray" onClick={() => drain(node, node.state === 'draining')}>{node.state === 'draining' ? t('Go on') : t('Drain')}</Button>, meta: { align: 'right' } },
  ]
  return (
    <DataTable<NodeView>
      name="nodes"
      label={t('Nodes')}
      title={t('Nodes')}
      columns={columns}
      whole={{ rows: presentFirst(nodes), text: (node) => [node.name, node.state, node.version, ...node.roles, ...node.handlers, ...node.queues].join(' '), values: { state: (node) => node.state } }}
      keyOf={(node) => node.node_id}
      filters={[{ name: 'node', label: t('Name, role or version'), kind: 'text', width: 190 }, { name: 'state', label: t('State'), options: states.map((value) => ({ value, label: t(value) })), width: 120 }]}
      searchName="node"
      empty={<Empty title={t('No node runs')} command="sexton up">{t('A node schedules, works or answers requests.')}</Empty>}
    />
  )
}

function Slots({ node }: { node: NodeView }) {
  if (!node.capacity) return <span className="quiet">–</span>
  return (
    <div className={tables.slots}>
      <Progress w={60} value={(node.running / node.capacity) * 100} color="var(--accent)" aria-label={t('{running} of {capacity} slots', { running: node.running, capacity: node.capacity })} />
      <span className="num">{number(node.running)}<span className="quiet"> / {number(node.capacity)}</span></span>
    </div>
  )
}

/** The same as the map, to be looked through. */
export function ShardList({ shards }: { shards: ShardView[] }) {
  const leaders = [...new Set(shards.map((shard) => shard.leader).filter((name) => name !== null))].sort()
  const columns: ColumnDef<ShardView>[] = [
    { id: 'shard', header: () => t('Shard'), cell: ({ row: { original: shard } }) => <strong className="num">{shard.shard}</strong>, meta: { sort: 'shard', value: (shard) => shard.shard, width: 90 } },
    { id: 'leader', header: () => t('Leader'), cell: ({ row: { original: shard } }) => shard.leader ?? <Status status="error" label={t('no leader')} />, meta: { sort: 'leader', value: (shard) => shard.leader } },
    { id: 'epoch', header: () => t('Epoch'), cell: ({ row: { original: shard } }) => number(shard.epoch), meta: { sort: 'epoch', value: (shard) => shard.epoch, align: 'right' } },
    { id: 'taken', header: () => t('Led since'), cell: ({ row: { original: shard } }) => <Time at={shard.taken_at} show="both" />, meta: { sort: 'taken', value: (shard) => shard.taken_at, hide: 'sm' } },
    { id: 'jobs', header: () => t('Jobs'), cell: ({ row: { original: shard } }) => number(shard.jobs), meta: { sort: 'jobs', value: (shard) => shard.jobs, align: 'right' } },
  ]
  return (
    <DataTable<ShardView>
      name="shards"
      label={t('Shards')}
      title={t('Shard by shard')}
      columns={columns}
      whole={{ rows: shards, text: (shard) => `${shard.shard} ${shard.leader ?? ''}`, values: { leader: (shard) => shard.leader ?? '-' } }}
      keyOf={(shard) => String(shard.shard)}
      filters={[{ name: 'shard', label: t('Number or leader'), kind: 'text', width: 190 }, { name: 'leader', label: t('Leader'), options: [{ value: '-', label: t('no leader') }, ...leaders.map((value) => ({ value, label: value }))], width: 190 }]}
      sortName="shards"
      searchName="shard"
      short={false}
      empty={<Empty title={t('There are no shards')} />}
    />
  )
}
