import { Alert, Button, Group, Modal, NumberInput, Progress, Tooltip } from '@mantine/core'
import { IconAlertTriangle, IconPencil, IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, orNone } from '@/api/client'
import type { Backlog, NodeView, QueueAnswer, QueueHour } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { Empty } from '@/parts/Empty'
import { duration } from '@/parts/instant'
import { tell, tellFailure, tellUndo } from '@/parts/notify'
import { Answer, Failure, Page, Panel } from '@/parts/Page'
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
  const queues = useQuery({ queryKey: ['queues'], queryFn: () => call('GET /queues', { query: { expand: 'hour' } }), refetchInterval: 10_000 })
  const backlog = useQuery({ queryKey: ['backlog'], queryFn: () => orNone(call('GET /backlog', {}), []), refetchInterval: 10_000 })
  const nodes = useQuery({ queryKey: ['workers'], queryFn: () => workers(session.mayEverywhere('viewer')), refetchInterval: 10_000 })
  const unserved = backlog.data?.filter((lane) => !lane.served) ?? []
  return (
    <Page title={t('Queues and workers')}>
      {unserved.length > 0 && <Unserved lanes={unserved} />}
      <Panel title={t('Queues')} flush>
        <Answer query={queues}>{(rows) => rows.length === 0 ? <Empty title={t('No queue has been used yet')} command="sexton queues list">{t('A queue appears with the first job that names it.')}</Empty> : <QueueTable rows={rows} unserved={new Set(unserved.map((lane) => lane.queue))} />}</Answer>
      </Panel>
      <Panel title={t('Workers')} flush>
        <Answer query={nodes}>{(rows) => rows.length === 0 ? <Empty title={t('No worker is running')} command="sexton up --roles worker">{t('Runs wait until a worker that knows their handler joins.')}</Empty> : <WorkerTable rows={rows} />}</Answer>
      </Panel>
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
            {lane.reason && <div className="quiet">{lane.reason}</div>}
          </li>
        ))}
      </ul>
    </Alert>
  )
}

function QueueTable({ rows, unserved }: { rows: Queue[]; unserved: ReadonlySet<string> }) {
  const deepest = Math.max(1, ...rows.map((queue) => queue.waiting ?? 0))
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  const [editing, setEditing] = useState<Queue | null>(null)
  const refresh = () => queries.invalidateQueries({ queryKey: ['queues'] })
  const toggle = (queue: Queue) =>
    queue.paused
      ? void call('POST /queues/{queue}/resume', { path: { queue: queue.name } }).then(() => { tellUndo(t('{name} goes on', { name: queue.name }), async () => { await call('POST /queues/{queue}/pause', { path: { queue: queue.name }, body: { reason: queue.paused_reason ?? null } }); await refresh() }); return refresh() }).catch(tellFailure)
      : ask({
          title: t('Pause a queue'),
          object: queue.name,
          effect: tn('{count} run waits in it and is not started until it goes on; running ones finish.', '{count} runs wait in it and are not started until it goes on; running ones finish.', queue.waiting ?? 0),
          verb: t('Pause'),
          act: async (reason) => {
            await call('POST /queues/{queue}/pause', { path: { queue: queue.name }, body: { reason: reason ?? null }, reason })
            await refresh()
          },
        })
  return (
    <div className={classes.scroll}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{t('Queue')}</th><th scope="col">{t('State')}</th><th scope="col" data-right>{t('Waiting')}</th><th scope="col" data-right>{t('Oldest')}</th><th scope="col" data-right>{t('Running')}</th>
            <th scope="col" data-right>{t('In/s')}</th><th scope="col" data-right>{t('Out/s')}</th><th scope="col">{t('Last hour')}</th><th scope="col">{t('Limits')}</th><th scope="col"><span className="hidden-label">{t('Actions')}</span></th>
          </tr>
        </thead>
        <tbody>
          {rows.map((queue) => (
            <tr key={queue.name}>
              <td><strong>{queue.name}</strong>{queue.warnings?.map((warning) => <div key={warning} className="warn">{warning}</div>)}</td>
              <td>{unserved.has(queue.name) ? <Status status="problem" label={t('no worker')} /> : <Status status={queue.paused ? 'paused' : 'active'} />}{queue.paused_reason && <div className="quiet">{queue.paused_reason}</div>}</td>
              <td data-right><span className={classes.depth}><i data-bad={unserved.has(queue.name) || undefined} style={{ width: `${((queue.waiting ?? 0) / deepest) * 100}%` }} aria-hidden />{number(queue.waiting ?? 0)}</span></td>
              <td data-right>{queue.oldest_available_at ? <Time at={queue.oldest_available_at} /> : <span className="quiet">–</span>}</td>
              <td data-right>{queue.running == null ? <span className="quiet">–</span> : number(queue.running)}{queue.concurrency ? <span className="quiet"> / {number(queue.concurrency)}</span> : null}</td>
              <td data-right>{number(queue.arrival_per_second ?? 0, 1)}{queue.messages && <div className="quiet">{t('{count} messages', { count: number(queue.messages.arrival_per_second, 1) })}</div>}</td>
              <td data-right>{number(queue.drain_per_second ?? 0, 1)}{queue.messages && <div className="quiet">{t('{count} messages', { count: number(queue.messages.drain_per_second, 1) })}</div>}</td>
              <td>{queue.hour && <Hour hour={queue.hour} />}</td>
              <td>{session.may('editor') ? <Button variant="subtle" color="gray" className={classes.limits ?? ''} rightSection={<IconPencil size={12} />} aria-label={`${t('Limits of {name}', { name: queue.name })}: ${limitText(queue)}`} onClick={() => setEditing(queue)}>{limitText(queue)}</Button> : <span className="quiet">{limitText(queue)}</span>}</td>
              <td data-right>
                {session.may('operator') && <Button variant="subtle" color="gray" leftSection={queue.paused ? <IconPlayerPlay size={13} /> : <IconPlayerPause size={13} />} onClick={() => toggle(queue)}>{queue.paused ? t('Resume') : t('Pause')}</Button>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {editing && <Limits queue={editing} close={() => setEditing(null)} done={refresh} />}
    </div>
  )
}

/** What came in as bars, what left as a line; said in words, too. */
function Hour({ hour }: { hour: QueueHour }) {
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
  const most = Math.max(1, ...hour.fired, ...hour.ended)
  const y = (value: number) => 18 - (value / most) * 17
  const said = `${t('in')} ${number(sum(hour.fired))}${hour.cut ? '+' : ''}, ${t('out')} ${number(sum(hour.ended))}`
  return (
    <svg className={classes.hour} viewBox={`0 0 ${hour.fired.length * 2} 19`} preserveAspectRatio="none" role="img" aria-label={`${t('Last hour')}: ${said}`}>
      <title>{said}</title>
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
  return parts.join(', ') || t('none')
}

function Limits({ queue, close, done }: { queue: Queue; close: () => void; done: () => Promise<unknown> }) {
  const [limits, setLimits] = useState({ concurrency: queue.concurrency ?? null, key_concurrency: queue.key_concurrency ?? null, rate: queue.rate ?? null, burst: queue.burst ?? null })
  const [error, setError] = useState<unknown>(null)
  const field = (name: keyof typeof limits, label: string, description: string) => (
    <NumberInput mt="sm" label={label} description={description} min={0} placeholder={t('no limit')} value={limits[name] ?? ''} onChange={(value) => setLimits({ ...limits, [name]: value === '' ? null : Number(value) })} />
  )
  const save = async () => {
    try {
      await call('PATCH /queues/{queue}', { path: { queue: queue.name }, body: limits })
      tell(t('The limits of {name} are changed', { name: queue.name }))
      close()
      await done()
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Modal opened onClose={close} title={<strong>{t('Limits of {name}', { name: queue.name })}</strong>}>
      <form onSubmit={(event) => { event.preventDefault(); void save() }}>
        {field('concurrency', t('At a time'), t('Runs of this queue, in all workers together.'))}
        {field('key_concurrency', t('At a time, per concurrency key'), t('Runs that share a key.'))}
        {field('rate', t('Starts per second'), t('On average.'))}
        {field('burst', t('Burst'), t('Starts at once after a pause.'))}
        {error !== null && <Alert mt="md" color="red" p={0}><Failure error={error} /></Alert>}
        <Group justify="flex-end" mt="lg" gap="xs"><Button variant="default" onClick={close}>{t('Keep it as it is')}</Button><Button type="submit">{t('Save')}</Button></Group>
      </form>
    </Modal>
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

function WorkerTable({ rows }: { rows: NodeView[] }) {
  const now = useNow()
  return (
    <div className={classes.scroll}>
      <table className={classes.table}>
        <thead>
          <tr><th scope="col">{t('Worker')}</th><th scope="col">{t('State')}</th><th scope="col">{t('Slots')}</th><th scope="col">{t('Heartbeat')}</th><th scope="col" data-right>{t('Lag')}</th><th scope="col">{t('Version')}</th><th scope="col">{t('Queues')}</th><th scope="col">{t('Handlers')}</th></tr>
        </thead>
        <tbody>
          {rows.map((node) => {
            const [running, capacity] = [node.running ?? 0, node.capacity ?? 0]
            return (
              <tr key={node.node_id}>
                <td><strong>{node.name}</strong>{node.app && <div className="quiet">{node.app}</div>}</td>
                <td><Status status={node.state} /></td>
                <td><div className={classes.slots}><Progress value={capacity ? (running / capacity) * 100 : 0} w={90} color={capacity && running / capacity > 0.9 ? 'var(--warn-mark)' : 'var(--accent)'} aria-label={t('{running} of {capacity} slots', { running, capacity })} /><span className="num">{number(running)}<span className="quiet"> / {number(capacity)}</span></span></div></td>
                <td><span className={(now.getTime() - new Date(node.heartbeat_at).getTime()) / 1000 > 30 ? 'bad' : ''}><Time at={node.heartbeat_at} /></span></td>
                <td data-right className={(node.lag_ms ?? 0) > SLOW_MS ? 'warn' : ''}>{node.lag_ms == null ? '–' : duration(node.lag_ms / 1000)}</td>
                <td>{node.version}</td>
                <td>{node.queues?.length && !node.queues.includes('*') ? node.queues.join(', ') : t('all')}</td>
                <td><Handlers names={node.handlers ?? []} /></td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
