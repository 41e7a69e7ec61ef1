import { Button, Tooltip } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { call } from '@/api/client'
import type { Cluster as ClusterView, Finding, NodeView, ShardView } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { Empty } from '@/parts/Empty'
import { duration } from '@/parts/instant'
import { Answer, Columns, Facts, Page, Panel } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import tables from '../queues/Queues.module.css'
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
              <Panel title={t('PostgreSQL and time')}><Answer query={doctor}>{({ facts, bounds }) => <Facts items={Object.entries({ ...facts, ...bounds })} />}</Answer></Panel>
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

/** Each shard a cell; cells of one leader have one pattern of colour and letter. */
function Shards({ cluster }: { cluster: ClusterView }) {
  const shards = cluster.leaders ?? []
  const leaders = [...new Set(shards.map((shard) => shard.leader ?? null).filter((name): name is string => name !== null))].sort()
  const letter = (shard: ShardView) => (shard.leader ? String.fromCharCode(65 + (leaders.indexOf(shard.leader) % 26)) : '!')
  return (
    <>
      <div className={classes.shards} role="list" aria-label={t('Shards')}>
        {shards.map((shard) => (
          <Tooltip key={shard.shard} label={`${t('shard {number}', { number: shard.shard })} · ${shard.leader ?? t('no leader')} · ${t('epoch {number}', { number: shard.epoch })} · ${tn('{count} job', '{count} jobs', shard.jobs ?? 0)}`}>
            <div role="listitem" className={classes.shard} data-leader={shard.leader ? leaders.indexOf(shard.leader) % 6 : 'none'} aria-label={`${t('shard {number}', { number: shard.shard })}: ${shard.leader ?? t('no leader')}`}>{letter(shard)}</div>
          </Tooltip>
        ))}
      </div>
      <div className={classes.legend}>
        {leaders.map((name, index) => (
          <span key={name}><i className={classes.shard} data-leader={index % 6}>{String.fromCharCode(65 + (index % 26))}</i> {name} <span className="quiet">{tn('{count} shard', '{count} shards', shards.filter((shard) => shard.leader === name).length)}</span></span>
        ))}
        {shards.some((shard) => !shard.leader) && <span className="bad"><i className={classes.shard} data-leader="none">!</i> {t('no leader')}</span>}
      </div>
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
        <thead><tr><th scope="col">{t('Node')}</th><th scope="col">{t('State')}</th><th scope="col">{t('Roles')}</th><th scope="col" data-right>{t('Shards')}</th><th scope="col" data-right>{t('Running')}</th><th scope="col">{t('Heartbeat')}</th><th scope="col" data-right>{t('Clock off by')}</th><th scope="col">{t('Started')}</th><th scope="col">{t('Version')}</th><th scope="col"><span className="hidden-label">{t('Actions')}</span></th></tr></thead>
        <tbody>
          {nodes.map((node) => (
            <tr key={node.node_id}>
              <td><strong>{node.name}</strong></td>
              <td><Status status={node.state} /></td>
              <td>{node.roles.map((role) => t(role)).join(', ')}</td>
              <td data-right>{number(node.shards ?? 0)}</td>
              <td data-right>{node.capacity ? `${number(node.running ?? 0)}/${number(node.capacity)}` : '–'}</td>
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

/** The latest takeover of each shard; shards that were taken together are one line. */
function Takeovers({ shards }: { shards: ShardView[] }) {
  const rows = takeoversOf(shards)
  if (rows.length === 0) return <Empty title={t('No takeover is recorded')} />
  return (
    <div className={tables.scroll} tabIndex={0} role="group" aria-label={t('Takeovers')}>
      <table className={tables.table}>
        <tbody>{rows.slice(0, 20).map((row) => <tr key={`${row.at}-${row.leader}`}><td><Time at={row.at} show="both" seconds /></td><td>{tn('{count} shard', '{count} shards', row.shards.length)}</td><td className="quiet">{t('epoch {number}', { number: row.epoch })}</td><td className="clip">{row.leader ?? t('no leader')}</td></tr>)}</tbody>
      </table>
    </div>
  )
}

export interface Takeover { at: string; leader: string | null; epoch: number; shards: number[] }

export function takeoversOf(shards: Pick<ShardView, 'shard' | 'leader' | 'epoch' | 'taken_at'>[]): Takeover[] {
  const found = new Map<string, Takeover>()
  for (const shard of shards) {
    if (!shard.taken_at) continue
    const key = `${shard.taken_at.slice(0, 19)} ${shard.leader ?? ''}`
    const known = found.get(key) ?? { at: shard.taken_at, leader: shard.leader ?? null, epoch: 0, shards: [] }
    known.epoch = Math.max(known.epoch, shard.epoch)
    known.shards.push(shard.shard)
    found.set(key, known)
  }
  return [...found.values()].sort((first, second) => second.at.localeCompare(first.at))
}

function Findings({ found }: { found: Finding[] }) {
  if (found.length === 0) return <Empty title={t('The doctor finds nothing')} command="sexton doctor" />
  return (
    <ul className={classes.findings}>
      {found.map((finding) => (
        <li key={finding.what}>
          <Status status={finding.serious ? 'error' : 'warning'} label={finding.serious ? t('to fix') : t('to consider')} />
          <div><p>{finding.what}</p><p className="quiet">{finding.fix}</p></div>
        </li>
      ))}
    </ul>
  )
}
