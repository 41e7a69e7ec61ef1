import { Progress } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { call } from '@/api/client'
import type { NamespaceView, Quotas } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, t } from '@/i18n'
import { DataTable } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import classes from './Settings.module.css'

export function Namespaces() {
  const session = useSession()
  const asked = useQuery({ queryKey: ['namespaces', 'used'], queryFn: async () => Promise.all((await call('GET /namespaces', {})).map((each, place) => (place < MOST_ASKED ? call('GET /namespaces/{namespace}', { path: { namespace: each.name } }).catch(() => each) : each))) })
  const columns: ColumnDef<NamespaceView>[] = [
    { id: 'name', header: () => t('Name'), cell: ({ row: { original: each } }) => <><strong>{each.name}</strong>{each.name === session.namespace && <> <Status status="live" label={t('this one')} /></>}<div className="quiet clip">{each.description}</div></>, meta: { sort: 'name', value: (each) => each.name } },
    { id: 'jobs', header: () => t('Jobs'), cell: ({ row: { original: each } }) => <Use used={each.used?.jobs} most={each.quotas?.jobs} label={t('Jobs')} />, meta: { sort: 'jobs', value: (each) => each.used?.jobs } },
    { id: 'runs', header: () => t('Live runs'), cell: ({ row: { original: each } }) => <Use used={each.used?.live_runs} most={each.quotas?.live_runs} label={t('Live runs')} />, meta: { sort: 'runs', value: (each) => each.used?.live_runs, hide: 'sm' } },
    { id: 'quotas', header: () => t('Other quotas'), cell: ({ row: { original: each } }) => <span className="quiet">{otherQuotas(each.quotas) || t('none')}</span>, meta: { hide: 'md' } },
    { id: 'made', header: () => t('Made'), cell: ({ row: { original: each } }) => <Time at={each.created_at} />, meta: { sort: 'made', value: (each) => each.created_at, hide: 'sm' } },
  ]
  return (
    <DataTable<NamespaceView>
      name="namespaces"
      label={t('Namespaces')}
      columns={columns}
      whole={{ rows: asked.data, error: asked.error, text: (each) => `${each.name} ${each.description ?? ''}` }}
      keyOf={(each) => each.name}
      filters={[{ name: 'search', label: t('Name or description'), kind: 'text' }]}
      empty={<Empty title={t('No namespaces')} command="sexton namespaces create team-a">{t('A namespace keeps the jobs of a team apart from those of others.')}</Empty>}
    />
  )
}

/** Of so many it is asked how much of their quotas is used. */
const MOST_ASKED = 50

/** How much of a quota is used; without one, how much there is. */
function Use({ used, most, label }: { used: number | undefined; most: number | null | undefined; label: string }) {
  if (used === undefined) return <span className="quiet">–</span>
  const share = most ? (used / most) * 100 : 0
  return (
    <div className={classes.use}>
      <span><b>{number(used)}</b><span className="quiet">{most ? t('of {count}', { count: number(most) }) : t('no limit')}</span></span>
      {most ? <Progress value={share} color={share > 90 ? 'var(--bad-mark)' : share > 75 ? 'var(--warn-mark)' : 'var(--accent)'} aria-label={`${label}: ${number(used)} / ${number(most)}`} /> : null}
    </div>
  )
}

const OTHERS: [keyof Quotas, string][] = [['firings_per_second', '{count} firings per second'], ['payload_bytes', 'payloads of {count} bytes'], ['history_days', '{count} days of history'], ['campaign_sends_per_day', '{count} messages of campaigns a day']]

function otherQuotas(quotas: Quotas | null | undefined): string {
  return OTHERS.filter(([name]) => quotas?.[name] != null).map(([name, text]) => t(text, { count: number(quotas?.[name] ?? 0) })).join(', ')
}
