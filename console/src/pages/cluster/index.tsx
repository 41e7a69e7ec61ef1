import { Tooltip } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '@/api/client'
import type { Cluster as ClusterView, Finding, ShardView } from '@/api/schema'
import { number, said, t, tn } from '@/i18n'
import { here } from '@/parts/command'
import { Code } from '@/parts/Copy'
import { Empty } from '@/parts/Empty'
import { relative } from '@/parts/instant'
import { Answer, Columns, Facts, Page, Panel, Stack } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time, useNow } from '@/parts/Time'
import tables from '../queues/Queues.module.css'
import { Nodes, ShardList } from './lists'
import { commandIn, leadersOf, ranges, takeoversOf } from './shards'
import classes from './Cluster.module.css'

/** Those before are in the list of shards. */
const MOST_TAKEOVERS = 20

export default function Cluster() {
  const asked = useQuery({ queryKey: ['cluster'], queryFn: () => call('GET /cluster', {}), refetchInterval: 10_000 })
  const doctor = useQuery({ queryKey: ['cluster', 'doctor'], queryFn: () => call('GET /cluster/doctor', {}), refetchInterval: 60_000 })
  return (
    <Page title={t('Cluster')}>
      <Answer query={asked} lines={8}>
        {(cluster) => (
          <>
            <Panel title={t('Shards')} right={t('{led} of {total} are led', { led: cluster.shards_led, total: cluster.shards })}><Shards cluster={cluster} /></Panel>
            <Nodes nodes={cluster.nodes} />
            <Columns>
              <Stack>
                <Panel title={t('Findings of the doctor')} flush><Answer query={doctor}>{({ findings }) => <Findings found={findings} />}</Answer></Panel>
                <Panel title={t('Elector')}>
                  <Facts items={[[t('Kind'), cluster.elector?.name ?? 'PostgreSQL'], [t('State'), <Status key="s" status={cluster.elector?.ok === false ? 'error' : 'live'} label={cluster.elector?.ok === false ? t('failing') : t('answers')} />], [t('Oldest due'), <Time key="o" at={cluster.oldest_due_at} />]]} />
                  {cluster.elector?.errors?.map((error) => <p key={error} className="bad">{error}</p>)}
                </Panel>
                <Takeovers shards={cluster.leaders ?? []} />
              </Stack>
              <Answer query={doctor}>{({ facts, bounds }) => <DoctorFacts facts={facts} bounds={bounds} />}</Answer>
            </Columns>
            <ShardList shards={cluster.leaders ?? []} />
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

function Takeovers({ shards }: { shards: ShardView[] }) {
  const rows = takeoversOf(shards)
  return (
    <Panel title={t('Takeovers')} right={rows.length > MOST_TAKEOVERS && t('{loaded} of {total}', { loaded: MOST_TAKEOVERS, total: number(rows.length) })} flush>
      {rows.length === 0 ? <Empty title={t('No takeover is recorded')} /> : (
        <div className={tables.scroll} tabIndex={0} role="group" aria-label={t('Takeovers')}>
          <table className={tables.table}>
            <tbody>{rows.slice(0, MOST_TAKEOVERS).map((row) => <tr key={`${row.at}-${row.leader}`}><td><Time at={row.at} show="both" seconds /></td><td title={ranges(row.shards)}>{tn('{count} shard', '{count} shards', row.shards.length)}</td><td className="quiet">{t('epoch {number}', { number: row.epoch })}</td><td className="clip">{row.leader ?? t('no leader')}</td></tr>)}</tbody>
          </table>
        </div>
      )}
    </Panel>
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
          <div><p>{said(finding.what)}</p><p className="quiet">{said(finding.fix)}</p>{commandIn(finding.fix) && <Code>{here(commandIn(finding.fix) ?? '')}</Code>}</div>
        </li>
      ))}
    </ul>
  )
}
