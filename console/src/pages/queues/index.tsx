import { ActionIcon, Alert, Button, NumberInput, Progress, Tooltip } from '@mantine/core'
import { IconAlertTriangle, IconPencil, IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useState } from 'react'
import { address, call, orNone } from '@/api/client'
import type { Backlog, NodeView, QueueAnswer, QueueHour } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, said, t, tn } from '@/i18n'
import { useConfirm, type Question } from '@/parts/Confirm'
import { DataTable, useNarrow, type Selection } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { FormDialog } from '@/parts/FormDialog'
import { duration } from '@/parts/instant'
import { tell, tellFailure, tellUndo } from '@/parts/notify'
import { presentFirst } from '@/parts/node'
import { Page } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time, useNow } from '@/parts/Time'
import classes from './Queues.module.css'

type Queue = QueueAnswer
/** A worker that takes longer to look around than this is short of time. */
const SLOW_MS = 500

/** Those of the namespace; of a server that does not list them, those of the cluster. */
async function workers(everywhere: boolean): Promise<NodeView[]> {
  const own = await orNone<NodeView[] | null>(call('GET /workers', {}), null)
  if (own || !everywhere) return own ?? []
  return (await call('GET /cluster', {})).nodes.filter((node) => node.roles.includes('worker'))
}

export default function Queues() {
  const session = useSession()
  const queues = useQuery({ queryKey: ['queues'], queryFn: () => call('GET /queues', { query: { expand: 'hour' } }), refetchInterval: 10_000, meta: { follow: address('GET /queues', {}, { expand: 'hour' }) } })
  const backlog = useQuery({ queryKey: ['backlog'], queryFn: () => orNone(call('GET /backlog', {}), []), refetchInterval: 10_000, meta: { follow: address('GET /backlog') } })
  const nodes = useQuery({ queryKey: ['workers'], queryFn: () => workers(session.mayEverywhere('viewer')), refetchInterval: 10_000, meta: { follow: address('GET /workers') } })
  const unserved = backlog.data?.filter((lane) => !lane.served) ?? []
  return (
    <Page title={t('Queues and workers')}>
      {unserved.length > 0 && <Unserved lanes={unserved} />}
      <QueueTable rows={queues.data} error={queues.error} unserved={new Set(unserved.map((lane) => lane.queue))} />
      <WorkerTable rows={nodes.data} error={nodes.error} />
    </Page>
  )
}

function Unserved({ lanes }: { lanes: Backlog[] }) {
  return (
    <Alert color="red" icon={<IconAlertTriangle size={18} />} title={t('What no worker can serve')}>
      <ul className={classes.unserved}>
        {lanes.map((lane) => (
          <li key={lane.queue + lane.target + (lane.handler ?? '')}>
            <strong>{lane.handler ?? lane.target}</strong> {t('in queue')} <strong>{lane.queue}</strong>: {tn('{count} run waits', '{count} runs wait', lane.waiting)}, {t('the oldest since')} <Time at={lane.oldest_available_at} />
            {lane.reason && <div className="quiet">{said(lane.reason)}</div>}
          </li>
        ))}
      </ul>
    </Alert>
  )
}

const stateOf = (queue: Queue, unserved: ReadonlySet<string>) => (unserved.has(queue.name) ? 'problem' : queue.paused ? 'paused' : 'active')

function QueueTable({ rows, error, unserved }: { rows: Queue[] | undefined; error: unknown; unserved: ReadonlySet<string> }) {
  const deepest = Math.max(1, ...(rows ?? []).map((queue) => queue.waiting ?? 0))
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  const [editing, setEditing] = useState<Queue | null>(null)
  const narrow = useNarrow()
  const refresh = () => queries.invalidateQueries({ queryKey: ['queues'] })
  const pause = (queues: Queue[]) => askToPause(ask, queues, refresh)
  const limits = (queue: Queue) => (session.may('editor') ? <Button variant="subtle" color="gray" className={classes.limits ?? ''} rightSection={<IconPencil size={12} />} aria-label={`${t('Limits of {name}', { name: queue.name })}: ${limitText(queue)}`} onClick={() => setEditing(queue)}>{limitText(queue)}</Button> : <span className="quiet">{limitText(queue)}</span>)
  const state = (queue: Queue) => (unserved.has(queue.name) ? <Status status="problem" label={t('no worker')} /> : <Status status={queue.paused ? 'paused' : 'active'} />)
  const columns: ColumnDef<Queue>[] = [
    { id: 'name', header: () => t('Queue'), cell: ({ row: { original: queue } }) => <><strong>{queue.name}</strong>{narrow && <div className={classes.under}>{state(queue)}{limits(queue)}</div>}{queue.warnings?.map((warning) => <div key={warning} className="warn">{said(warning)}</div>)}</>, meta: { sort: 'name', value: (queue) => queue.name } },
    { id: 'state', header: () => t('State'), cell: ({ row: { original: queue } }) => <>{state(queue)}{queue.paused_reason && <div className="quiet">{queue.paused_reason}</div>}</>, meta: { hide: 'sm', sort: 'state', value: (queue) => stateOf(queue, unserved) } },
    { id: 'waiting', header: () => t('Waiting'), cell: ({ row: { original: queue } }) => <span className={classes.depth}><i data-bad={unserved.has(queue.name) || undefined} style={{ width: `${((queue.waiting ?? 0) / deepest) * 100}%` }} aria-hidden />{number(queue.waiting ?? 0)}</span>, meta: { align: 'right', sort: 'waiting', value: (queue) => queue.waiting ?? 0 } },
    { id: 'oldest', header: () => t('Oldest'), cell: ({ row: { original: queue } }) => (queue.oldest_available_at ? <Time at={queue.oldest_available_at} /> : <span className="quiet">–</span>), meta: { align: 'right', hide: 'sm', sort: 'oldest', value: (queue) => queue.oldest_available_at } },
    { id: 'running', header: () => t('Running'), cell: ({ row: { original: queue } }) => <>{number(queue.running ?? 0)}{queue.concurrency ? <span className="quiet"> / {number(queue.concurrency)}</span> : null}</>, meta: { align: 'right', hide: 'sm', sort: 'running', value: (queue) => queue.running } },
    { id: 'in', header: () => t('In/s'), cell: ({ row: { original: queue } }) => <>{number(queue.arrival_per_second ?? 0, 1)}{queue.messages && <div className="quiet">{t('{count} messages', { count: number(queue.messages.arrival_per_second, 1) })}</div>}</>, meta: { align: 'right', hide: 'sm', sort: 'in', value: (queue) => queue.arrival_per_second ?? 0 } },
    { id: 'out', header: () => t('Out/s'), cell: ({ row: { original: queue } }) => <>{number(queue.drain_per_second ?? 0, 1)}{queue.messages && <div className="quiet">{t('{count} messages', { count: number(queue.messages.drain_per_second, 1) })}</div>}</>, meta: { align: 'right', hide: 'sm', sort: 'out', value: (queue) => queue.drain_per_second ?? 0 } },
    { id: 'hour', header: () => t('Last hour'), cell: ({ row: { original: queue } }) => queue.hour && <Hour hour={queue.hour} />, meta: { hide: 'md' } },
    { id: 'limits', header: () => t('Limits'), cell: ({ row: { original: queue } }) => limits(queue), meta: { hide: 'sm' } },
    { id: 'actions', header: () => <span className="hidden-label">{t('Actions')}</span>, cell: ({ row: { original: queue } }) => session.may('operator') && <Turn queue={queue} narrow={narrow} turn={() => (queue.paused ? void resume([queue], refresh) : pause([queue]))} />, meta: { align: 'right' } },
  ]
  const bulk = session.may('operator')
    ? [
        { label: t('Pause'), icon: <IconPlayerPause size={14} />, act: (selection: Selection<Queue>) => pause(selection.rows.filter((queue) => !queue.paused)) },
        { label: t('Resume'), icon: <IconPlayerPlay size={14} />, act: (selection: Selection<Queue>) => void resume(selection.rows.filter((queue) => queue.paused), refresh) },
      ]
    : []
  return (
    <>
      <DataTable<Queue>
        name="queues"
        label={t('Queues')}
        title={t('Queues')}
        columns={columns}
        whole={{ rows, error, text: (queue) => `${queue.name} ${queue.paused_reason ?? ''}`, values: { state: (queue) => stateOf(queue, unserved) } }}
        keyOf={(queue) => queue.name}
        searchName="queue"
        filters={[{ name: 'queue', label: t('Queue'), kind: 'text', width: 160 }, { name: 'state', label: t('State'), options: [['active', t('active')], ['paused', t('paused')], ['problem', t('no worker')]].map(([value = '', label = '']) => ({ value, label })) }]}
        bulk={bulk}
        empty={<Empty title={t('No queue has been used yet')} command="sexton queues list">{t('A queue appears with the first job that names it.')}</Empty>}
      />
      {editing && <Limits queue={editing} close={() => setEditing(null)} done={refresh} />}
    </>
  )
}

/** On a telephone there is room for its sign. */
function Turn({ queue, narrow, turn }: { queue: Queue; narrow: boolean; turn: () => void }) {
  const Sign = queue.paused ? IconPlayerPlay : IconPlayerPause
  const word = queue.paused ? t('Resume') : t('Pause')
  return narrow ? <ActionIcon aria-label={`${word}: ${queue.name}`} onClick={turn}><Sign size={16} /></ActionIcon> : <Button variant="subtle" color="gray" leftSection={<Sign size={13} />} onClick={turn}>{word}</Button>
}

/** Some queues, or one: how many runs wait in them is said first. */
function askToPause(ask: (question: Question) => void, queues: Queue[], refresh: () => Promise<unknown>): void {
  const [first] = queues
  if (!first) {
    tell(t('They are paused already'))
    return
  }
  const waiting = queues.reduce((sum, queue) => sum + (queue.waiting ?? 0), 0)
  ask({
    title: queues.length === 1 ? t('Pause a queue') : t('Pause queues'),
    object: queues.length === 1 ? first.name : `${tn('{count} queue', '{count} queues', queues.length)}: ${queues.map((queue) => queue.name).join(', ')}`,
    effect: queues.length === 1
      ? tn('{count} run waits in it and is not started until it goes on; running ones finish.', '{count} runs wait in it and are not started until it goes on; running ones finish.', waiting)
      : tn('{count} run waits in them and is not started until they go on; running ones finish.', '{count} runs wait in them and are not started until they go on; running ones finish.', waiting),
    verb: t('Pause'),
    act: async (reason) => {
      try {
        for (const queue of queues) await call('POST /queues/{queue}/pause', { path: { queue: queue.name }, body: { reason: reason ?? null }, reason })
      } finally {
        void refresh()
      }
      tellUndo(queues.length === 1 ? t('{name} is paused', { name: first.name }) : tn('{count} queue is paused', '{count} queues are paused', queues.length), async () => {
        for (const queue of queues) await call('POST /queues/{queue}/resume', { path: { queue: queue.name } })
        await refresh()
      })
    },
  })
}

async function resume(queues: Queue[], refresh: () => Promise<unknown>): Promise<void> {
  const [first] = queues
  if (!first) {
    tell(t('None of them is paused'))
    return
  }
  try {
    for (const queue of queues) await call('POST /queues/{queue}/resume', { path: { queue: queue.name } })
    tellUndo(queues.length === 1 ? t('{name} goes on', { name: first.name }) : tn('{count} queue goes on', '{count} queues go on', queues.length), async () => {
      for (const queue of queues) await call('POST /queues/{queue}/pause', { path: { queue: queue.name }, body: { reason: queue.paused_reason ?? null } })
      await refresh()
    })
  } catch (failure) {
    tellFailure(failure)
  }
  await refresh()
}

/** What came in as bars, what left as a line; said in words, too. */
function Hour({ hour }: { hour: QueueHour }) {
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
  const most = Math.max(1, ...hour.fired, ...hour.ended)
  const y = (value: number) => 18 - (value / most) * 17
  const words = `${t('in')} ${number(sum(hour.fired))}${hour.cut ? '+' : ''}, ${t('out')} ${number(sum(hour.ended))}`
  return (
    <svg className={classes.hour} viewBox={`0 0 ${hour.fired.length * 2} 19`} preserveAspectRatio="none" role="img" aria-label={`${t('Last hour')}: ${words}`}>
      <title>{words}</title>
      {hour.fired.map((value, place) => value > 0 && <rect key={place} x={place * 2} y={y(value)} width={1.6} height={19 - y(value)} />)}
      <polyline points={hour.ended.map((value, place) => `${place * 2 + 0.8},${y(value)}`).join(' ')} />
    </svg>
  )
}

function limitText(queue: Queue): string {
  const parts = [
    queue.concurrency != null && t('{count} at a time', { count: queue.concurrency }),
    queue.key_concurrency != null && t('{count} per key', { count: queue.key_concurrency }),
    queue.rate != null && t('{count}/s', { count: queue.rate }),
  ].filter((part): part is string => typeof part === 'string')
  return parts.join(', ') || t('no limit')
}

const LIMITS = ['concurrency', 'key_concurrency', 'rate', 'burst'] as const
type LimitsOf = Record<(typeof LIMITS)[number], number | null>

/** Only what is changed here is sent: another may have changed the rest meanwhile. */
export function changedLimits(queue: Partial<LimitsOf>, limits: LimitsOf): Partial<LimitsOf> {
  return Object.fromEntries(LIMITS.filter((name) => limits[name] !== (queue[name] ?? null)).map((name) => [name, limits[name]]))
}

function Limits({ queue, close, done }: { queue: Queue; close: () => void; done: () => Promise<unknown> }) {
  const [limits, setLimits] = useState<LimitsOf>({ concurrency: queue.concurrency ?? null, key_concurrency: queue.key_concurrency ?? null, rate: queue.rate ?? null, burst: queue.burst ?? null })
  const set = async (wanted: Partial<LimitsOf>) => {
    await call('PATCH /queues/{queue}', { path: { queue: queue.name }, body: wanted })
    void done()
  }
  const save = async () => {
    const changed = changedLimits(queue, limits)
    if (Object.keys(changed).length === 0) return
    await set(changed)
    const before = Object.fromEntries(LIMITS.filter((name) => name in changed).map((name) => [name, queue[name] ?? null]))
    tellUndo(t('The limits of {name} are changed', { name: queue.name }), () => set(before))
  }
  return (
    <FormDialog title={t('Limits of {name}', { name: queue.name })} verb={t('Save')} fields={[...LIMITS]} close={close} save={save}>
      {(error) => {
        const field = (name: keyof LimitsOf, label: string, description: string) => (
          <NumberInput mt="sm" label={label} description={description} min={name === 'rate' ? 0.001 : 1} placeholder={t('no limit')} value={limits[name] ?? ''} onChange={(value) => setLimits({ ...limits, [name]: value === '' ? null : Number(value) })} error={error(name)} />
        )
        return (
          <>
            {field('concurrency', t('At a time'), t('Runs of this queue, in all workers together.'))}
            {field('key_concurrency', t('At a time, per concurrency key'), t('Runs that share a key.'))}
            {field('rate', t('Starts per second'), t('On average.'))}
            {field('burst', t('Burst'), t('Starts at once after a pause.'))}
          </>
        )
      }}
    </FormDialog>
  )
}

/** Some of them, and how many more there are. */
function Handlers({ names }: { names: string[] }) {
  const own = [...names].sort((first, second) => Number(first.startsWith('sexton.')) - Number(second.startsWith('sexton.')) || first.localeCompare(second))
  const shown = own.slice(0, 3)
  return (
    <Tooltip label={own.join(', ')} multiline maw={340} disabled={own.length <= shown.length}>
      <span className={classes.handlers} tabIndex={own.length > shown.length ? 0 : undefined}>
        {shown.map((name) => <code key={name}>{name}</code>)}
        {own.length > shown.length && <span className="quiet">+{number(own.length - shown.length)}</span>}
      </span>
    </Tooltip>
  )
}

function WorkerTable({ rows, error }: { rows: NodeView[] | undefined; error: unknown }) {
  const now = useNow()
  const columns: ColumnDef<NodeView>[] = [
    { id: 'name', header: () => t('Worker'), cell: ({ row: { original: node } }) => <><strong>{node.name}</strong>{node.app && <div className="quiet">{node.app}</div>}</>, meta: { sort: 'name', value: (node) => node.name } },
    { id: 'state', header: () => t('State'), cell: ({ row: { original: node } }) => <Status status={node.state} />, meta: { sort: 'state', value: (node) => node.state } },
    { id: 'slots', header: () => t('Slots'), cell: ({ row: { original: node } }) => <Slots node={node} />, meta: { sort: 'slots', value: (node) => (node.capacity ? (node.running ?? 0) / node.capacity : 0) } },
    { id: 'heartbeat', header: () => t('Heartbeat'), cell: ({ row: { original: node } }) => <span className={node.state !== 'stopped' && (now.getTime() - new Date(node.heartbeat_at).getTime()) / 1000 > 30 ? 'bad' : ''}><Time at={node.heartbeat_at} /></span>, meta: { sort: 'heartbeat', value: (node) => node.heartbeat_at } },
    { id: 'lag', header: () => t('Lag'), cell: ({ row: { original: node } }) => <span className={(node.lag_ms ?? 0) > SLOW_MS ? 'warn' : ''}>{node.lag_ms == null ? '–' : duration(node.lag_ms / 1000)}</span>, meta: { align: 'right', hide: 'sm', sort: 'lag', value: (node) => node.lag_ms } },
    { id: 'version', header: () => t('Version'), cell: ({ row: { original: node } }) => node.version, meta: { hide: 'sm', sort: 'version', value: (node) => node.version } },
    { id: 'queues', header: () => t('Queues'), cell: ({ row: { original: node } }) => queuesOf(node), meta: { hide: 'md' } },
    { id: 'handlers', header: () => t('Handlers'), cell: ({ row: { original: node } }) => <Handlers names={node.handlers ?? []} />, meta: { hide: 'md' } },
  ]
  return (
    <DataTable<NodeView>
      name="workers"
      label={t('Workers')}
      title={t('Workers')}
      columns={columns}
      whole={{ rows: rows && presentFirst(rows), error, text: (node) => [node.name, node.app, node.version, node.state, queuesOf(node), ...(node.handlers ?? [])].join(' ') }}
      keyOf={(node) => String(node.node_id)}
      sortName="worker_sort"
      searchName="worker"
      filters={[{ name: 'worker', label: t('Name, queue or handler'), kind: 'text' }]}
      empty={<Empty title={t('No worker is running')} command="sexton up --roles worker">{t('Runs wait until a worker that knows their handler joins.')}</Empty>}
    />
  )
}

function queuesOf(node: NodeView): string {
  return node.queues?.length && !node.queues.includes('*') ? node.queues.join(', ') : t('all')
}

function Slots({ node }: { node: NodeView }) {
  const [running, capacity] = [node.running ?? 0, node.capacity ?? 0]
  return <div className={classes.slots}><Progress value={capacity ? (running / capacity) * 100 : 0} w={90} color={capacity && running / capacity > 0.9 ? 'var(--warn-mark)' : 'var(--accent)'} aria-label={t('{running} of {capacity} slots', { running, capacity })} /><span className="num">{number(running)}<span className="quiet"> / {number(capacity)}</span></span></div>
}
