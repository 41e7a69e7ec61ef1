import { Button, Progress, Tooltip } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '@/api/client'
import type { Cluster as ClusterView, Finding, NodeView, ShardView } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { Code } from '@/parts/Copy'
import { Empty } from '@/parts/Empty'
import { duration, relative } from '@/parts/instant'
import { Answer, Columns, Facts, Page, Panel } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time, useNow } from '@/parts/Time'
import tables from '../queues/Queues.module.css'
import { commandIn, leadersOf, ranges, takeoversOf } from './shards'
import classes from './Cluster.module.css'

export default function Cluster() {
  const asked = useQuery({ queryKey: ['cluster'], queryFn: () => call('GET /cluster', {}), refetchInterval: 10_000 })
  const doctor = useQuery({ queryKey: ['cluster', 'doctor'], queryFn: () => call('GET /cluster/doctor', {}), refetchInterval: 60_000 })
  return (
    <Page title={t('Cluster')}>
      <Answer query={asked} lines={8}>
        {(cluster) => (
          <>
            <Panel title={t('Shards')} right={t('{led} of {total} are led', { led: cluster.shards_led, total: cluster.shards })}><Shards cluster={cluster} /></Panel>
            <Panel title={t('Nodes')} flush><Nodes nodes={cluster.nodes} /></Panel>
            <Columns>
              <Panel title={t('Findings of the doctor')} flush><Answer query={doctor}>{({ findings }) => <Findings found={findings} />}</Answer></Panel>
              <Answer query={doctor}>{({ facts, bounds }) => <DoctorFacts facts={facts} bounds={bounds} />}</Answer>
              <Panel title={t('Elector')}>
                <Facts items={[[t('Kind'), cluster.elector?.name ?? 'PostgreSQL'], [t('State'), <Status key="s" status={cluster.elector?.ok === false ? 'error' : 'live'} label={cluster.elector?.ok === false ? t('failing') : t('answers')} />], [t('Oldest due'), <Time key="o" at={cluster.oldest_due_at} />]]} />
                {cluster.elector?.errors?.map((error) => <p key={error} className="bad">{error}</p>)}
              </Panel>
              <Panel title={t('Takeovers')} flush><Takeovers shards={cluster.leaders ?? []} /></Panel>
            </Columns>
          </>
        )}
      </Answer>
    </Page>
  )
}

/** Each shard a field; those of one leader have one colour and one letter. Pointing at a leader shows its own. */
function Shards({ cluster }: { cluster: ClusterView }) {
  const [near, setNear] = useState<string | null>(null)
  const shards = cluster.leaders ?? []
  const { leaders, without } = leadersOf(shards)
  const byName = new Map(leaders.map((leader) => [leader.name, leader]))
  const now = useNow()
  const label = (shard: ShardView) => [t('shard {number}', { number: shard.shard }), shard.leader ?? t('no leader'), t('epoch {number}', { number: shard.epoch }), shard.taken_at && t('since {time}', { time: relative(new Date(shard.taken_at), now) }), tn('{count} job', '{count} jobs', shard.jobs ?? 0)].filter(Boolean).join(' · ')
  return (
    <>
      <div className={classes.shards} role="list" aria-label={t('Shards')}>
        {shards.map((shard) => {
          const leader = byName.get(shard.leader ?? '')
          return (
            <Tooltip key={shard.shard} label={label(shard)} openDelay={100}>
              <div role="listitem" className={classes.shard} data-look={leader?.look ?? 'none'} data-far={(near !== null && near !== (shard.leader ?? '')) || undefined} aria-label={label(shard)}>
                <span>{leader?.letter ?? '!'}</span><small>{shard.shard}</small>
              </div>
            </Tooltip>
          )
        })}
      </div>
      <ul className={classes.legend}>
        {without.length > 0 && <li className="bad"><i className={classes.letter} data-look="none">!</i> <strong>{t('no leader')}</strong> {tn('{count} shard', '{count} shards', without.length)}: {ranges(without.map((shard) => shard.shard))}</li>}
        {leaders.map((leader) => (
          <li key={leader.name} onMouseEnter={() => setNear(leader.name)} onMouseLeave={() => setNear(null)}>
            <i className={classes.letter} data-look={leader.look}>{leader.letter}</i> <strong>{leader.name}</strong> <span className="quiet">{tn('{count} shard', '{count} shards', leader.shards.length)} · {tn('{count} job', '{count} jobs', leader.jobs)}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

function Nodes({ nodes }: { nodes: NodeView[] }) {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  const drain = (node: NodeView, undo: boolean) => ask({
    title: undo ? t('Let a node go on') : t('Drain a node'),
    object: node.name,
    effect: undo ? t('It takes shards and runs again.') : t('It hands {shards} shards over, takes no more runs and finishes the {running} it has.', { shards: number(node.shards ?? 0), running: number(node.running ?? 0) }),
    verb: undo ? t('Go on') : t('Drain'),
    destructive: !undo,
    act: async (reason) => {
      await call('POST /nodes/{node}/drain', { path: { node: node.node_id }, body: { undo }, reason })
      await queries.invalidateQueries({ queryKey: ['cluster'] })
    },
  })
  return (
    <div className={tables.scroll}>
      <table className={tables.table}>
        <thead><tr><th scope="col">{t('Node')}</th><th scope="col">{t('State')}</th><th scope="col">{t('Roles')}</th><th scope="col" data-right>{t('Shards')}</th><th scope="col">{t('Running')}</th><th scope="col">{t('Heartbeat')}</th><th scope="col" data-right>{t('Clock off by')}</th><th scope="col">{t('Started')}</th><th scope="col">{t('Version')}</th><th scope="col"><span className="hidden-label">{t('Actions')}</span></th></tr></thead>
        <tbody>
          {nodes.map((node) => (
            <tr key={node.node_id}>
              <td><strong>{node.name}</strong></td>
              <td><Status status={node.state} /></td>
              <td>{node.roles.map((role) => t(role)).join(', ')}</td>
              <td data-right>{number(node.shards ?? 0)}</td>
              <td>{node.capacity ? <div className={tables.slots}><Progress w={60} value={((node.running ?? 0) / node.capacity) * 100} color="var(--accent)" aria-label={t('{running} of {capacity} slots', { running: node.running ?? 0, capacity: node.capacity })} /><span className="num">{number(node.running ?? 0)}<span className="quiet"> / {number(node.capacity)}</span></span></div> : <span className="quiet">–</span>}</td>
              <td><Time at={node.heartbeat_at} /></td>
              <td data-right className={Math.abs(node.skew_ms ?? 0) > 500 ? 'warn' : ''}>{node.skew_ms == null ? '–' : duration(node.skew_ms / 1000)}</td>
              <td><Time at={node.started_at} /></td>
              <td>{node.version}</td>
              <td data-right>{session.mayEverywhere('admin') && (node.state === 'live' || node.state === 'draining') && <Button variant="subtle" color="gray" onClick={() => drain(node, node.state === 'draining')}>{node.state === 'draining' ? t('Go on') : t('Drain')}</Button>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Takeovers({ shards }: { shards: ShardView[] }) {
  const rows = takeoversOf(shards)
  if (rows.length === 0) return <Empty title={t('No takeover is recorded')} />
  return (
    <div className={tables.scroll} tabIndex={0} role="group" aria-label={t('Takeovers')}>
      <table className={tables.table}>
        <tbody>{rows.slice(0, 20).map((row) => <tr key={`${row.at}-${row.leader}`}><td><Time at={row.at} show="both" seconds /></td><td title={ranges(row.shards)}>{tn('{count} shard', '{count} shards', row.shards.length)}</td><td className="quiet">{t('epoch {number}', { number: row.epoch })}</td><td className="clip">{row.leader ?? t('no leader')}</td></tr>)}</tbody>
      </table>
    </div>
  )
}

const GROUPS: [string, string[]][] = [
  ['PostgreSQL', ['PostgreSQL', 'database size', 'connections', 'migrations', 'fsync', 'full_page_writes', 'synchronous_commit']],
  ['Time', ['clock offset', 'round trip', 'zone database']],
]

/** What the doctor measured, in groups; what it may learn to measure later comes last. */
function DoctorFacts({ facts, bounds }: { facts: Record<string, unknown>; bounds: Record<string, unknown> }) {
  const known = new Set(GROUPS.flatMap(([, names]) => names))
  const groups: [string, [string, unknown][]][] = [
    ...GROUPS.map(([title, names]): [string, [string, unknown][]] => [t(title), names.filter((name) => name in facts).map((name) => [name, facts[name]])]),
    [t('How long it takes'), Object.entries(bounds)],
    [t('What it holds'), Object.entries(facts).filter(([name]) => !known.has(name))],
  ]
  return (
    <Panel title={t('PostgreSQL and time')} flush>
      {groups.filter(([, items]) => items.length > 0).map(([title, items]) => (
        <div key={title} className={classes.group}>
          <h3>{title}</h3>
          <dl>{items.map(([name, value]) => <div key={name}><dt>{t(name)}</dt><dd>{String(value)}</dd></div>)}</dl>
        </div>
      ))}
    </Panel>
  )
}

function Findings({ found }: { found: Finding[] }) {
  if (found.length === 0) return <Empty title={t('The doctor finds nothing')} command="sexton doctor" />
  return (
    <ul className={classes.findings}>
      {found.map((finding) => (
        <li key={finding.what}>
          <Status status={finding.serious ? 'error' : 'warning'} label={finding.serious ? t('to fix') : t('to consider')} />
          <div><p>{finding.what}</p><p className="quiet">{finding.fix}</p>{commandIn(finding.fix) && <Code>{commandIn(finding.fix) ?? ''}</Code>}</div>
        </li>
      ))}
    </ul>
  )
}
