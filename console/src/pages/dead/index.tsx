import { Button, Tabs } from '@mantine/core'
import { IconRefresh, IconTrash } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo, useState } from 'react'
import { Link, useSearchParams } from 'react-router'
import { address, call, listed, type Paged } from '@/api/client'
import type { DeadFilter, DeadGroup, DeadLetter } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { DataTable, type Filters, type Selection } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { findJobs } from '@/parts/finding'
import { toldBy } from '@/parts/error'
import { ErrorText } from '@/parts/ErrorText'
import { Answer, Page, Panel } from '@/parts/Page'
import { useActing } from '@/parts/sending'
import { Spark } from '@/parts/Spark'
import { Status } from '@/parts/Status'
import { tabOf } from '@/parts/tab'
import { Time } from '@/parts/Time'
import { askToDiscard, askToDiscardAll, askToRedrive, filterOf, filterOfGroup } from './bulk'
import { Redrive } from './Redrive'
import classes from './Dead.module.css'

// Each leads to the letters: an address may name it without the tab.
const FILTERS = ['job', 'reason', 'error_group']
const MOST_GROUPS = 200

const NOTHING = () => (
  <Empty title={t('No dead letters')} command="sexton dead list">{t('A run that fails for good is kept here until it is redriven or discarded. There is none.')}</Empty>
)

export default function Dead() {
  const session = useSession()
  const [search, setSearch] = useSearchParams()
  const [redrive, setRedrive] = useState<{ filter: DeadFilter; name: string; count: number } | null>(null)
  const [, act] = useActing()
  const queries = useQueryClient()
  const groups = useQuery({ queryKey: ['dead-groups'], queryFn: () => call('GET /dead/groups', { query: { limit: MOST_GROUPS } }), meta: { follow: address('GET /dead/groups', {}, { limit: MOST_GROUPS }) } })
  const tab = FILTERS.some((name) => search.get(name)) ? 'letters' : tabOf(['groups', 'letters'], search.get('tab'))
  const refresh = () => queries.invalidateQueries({ predicate: ({ queryKey: [name] }) => ['dead', 'dead-groups'].includes(String(name)) })
  // The groups are those with the most letters, not all.
  const countAndAsk = (filter: DeadFilter, name: string) => act(async () => {
    const { matched } = await call('POST /dead/redrive', { body: { ...filter, dry_run: true } })
    setRedrive({ filter, name, count: matched ?? 0 })
  })
  return (
    <Page
      title={t('Dead letters')}
      about={t('Runs that failed for good: nothing is lost, and nothing is tried again without you.')}
      actions={session.may('operator') && Boolean(groups.data?.length) && <Button leftSection={<IconRefresh size={14} />} onClick={() => void countAndAsk({ all: true }, t('all dead letters'))}>{t('Redrive all')}</Button>}
    >
      <Tabs value={tab} onChange={(value) => setSearch(value === 'letters' ? { tab: 'letters' } : {})} keepMounted={false}>
        <Tabs.List mb="sm">
          <Tabs.Tab value="groups">{t('By error')}</Tabs.Tab>
          <Tabs.Tab value="letters">{t('One by one')}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="groups">
          <Answer query={groups}>
            {(found) => found.length === 0 ? <Panel><NOTHING /></Panel> : (
              <div className={classes.groups}>{found.map((group) => <Group key={group.error_group + group.reason} group={group} redrive={() => setRedrive({ filter: filterOfGroup(group), name: toldBy(group.latest_error ?? group.error_group).title, count: group.letters })} refresh={refresh} />)}{found.length === MOST_GROUPS && <p className="quiet">{t('These are the {count} largest groups; all letters are listed one by one.', { count: number(MOST_GROUPS) })}</p>}</div>
            )}
          </Answer>
        </Tabs.Panel>
        <Tabs.Panel value="letters"><Letters redrive={(filter) => void countAndAsk(filter, t('what matches the filters'))} refresh={refresh} /></Tabs.Panel>
      </Tabs>
      {redrive && <Redrive {...redrive} close={() => setRedrive(null)} done={refresh} />}
    </Page>
  )
}

function Group({ group, redrive, refresh }: { group: DeadGroup; redrive: () => void; refresh: () => Promise<unknown> }) {
  const session = useSession()
  const ask = useConfirm()
  const name = toldBy(group.latest_error ?? group.error_group).title
  return (
    <article className={classes.group}>
      <div className={classes.count}>
        <strong>{number(group.letters)}</strong>
        <span className="quiet">{tn('in {count} job', 'in {count} jobs', group.jobs)}</span>
      </div>
      <div className={classes.middle}>
        <Link to={`/dead?${new URLSearchParams({ tab: 'letters', error_group: group.error_group, reason: group.reason })}`} className="link">{name}</Link>
        <p className={classes.facts}>
          <Status status="dead" label={t(group.reason)} />
          <span>{t('first')} <Time at={group.first_died_at} show="both" /></span>
          <span>{t('last')} <Time at={group.last_died_at} show="both" /></span>
          <span>{t('sample')} <Link to={`/dead/${group.latest_run_id}`} className="mono">{group.latest_run_id}</Link></span>
        </p>
        {group.latest_error && <ErrorText text={group.latest_error} title={false} />}
      </div>
      <div className={classes.hours}>
        <Spark values={group.hours} tone="bad" height={28} label={t('Died in each of the last 24 hours, now on the right: {counts}', { counts: group.hours.join(', ') })} />
        <span className="quiet">{t('last 24 hours')}</span>
      </div>
      {session.may('operator') && (
        <div className={classes.actions}>
          <Button variant="default" leftSection={<IconRefresh size={14} />} onClick={redrive}>{t('Redrive')}</Button>
          <Button variant="subtle" color="gray" leftSection={<IconTrash size={14} />} onClick={() => void askToDiscardAll(ask, filterOfGroup(group), name, refresh)}>{t('Discard')}</Button>
        </div>
      )}
    </article>
  )
}

function Letters({ redrive, refresh }: { redrive: (filter: DeadFilter) => void; refresh: () => Promise<unknown> }) {
  const columns = useMemo(makeColumns, [])
  const session = useSession()
  const ask = useConfirm()
  const bulk = session.may('operator')
    ? [
        { label: t('Redrive'), icon: <IconRefresh size={14} />, act: (selection: Selection<DeadLetter>) => (selection.all ? redrive(filterOf(selection)) : askToRedrive(ask, selection, refresh)) },
        { label: t('Discard'), icon: <IconTrash size={14} />, color: 'var(--bad)', act: (selection: Selection<DeadLetter>) => void askToDiscard(ask, selection, refresh) },
      ]
    : []
  const load = (filters: Filters, cursor: string | null, signal: AbortSignal): Promise<Paged<DeadLetter[]>> => listed('GET /dead', filters, cursor, signal)
  return (
    <DataTable
      name="dead"
      label={t('Dead letters')}
      columns={columns}
      load={load}
      follow={(filters) => address('GET /dead', {}, { limit: 100, ...filters })}
      keyOf={(letter) => letter.run_id}
      to={(letter) => `/dead/${letter.run_id}`}
      filters={[
        { name: 'job', label: t('Job'), kind: 'found', find: findJobs, width: 180 },
        { name: 'reason', label: t('Reason'), options: ['exhausted', 'permanent', 'poison'].map((value) => ({ value, label: t(value) })), width: 130 },
        { name: 'error_group', label: t('Cause'), kind: 'text', width: 200 },
      ]}
      bulk={bulk}
      exported="/export/dead"
      steady
      empty={<NOTHING />}
    />
  )
}

function makeColumns(): ColumnDef<DeadLetter>[] {
  return [
    { id: 'reason', header: () => t('Reason'), cell: ({ row: { original: letter } }) => <Status status="dead" label={t(letter.reason)} />, meta: { width: 124, narrow: 112 } },
    { id: 'job', header: () => t('Job'), cell: ({ row: { original: letter } }) => <Link to={`/jobs/${letter.job_id}`} className="link">{letter.job_name ?? letter.job_id}</Link> },
    { id: 'run', header: () => t('Run'), cell: ({ row: { original: letter } }) => <Link to={`/dead/${letter.run_id}`} className={`${classes.id} mono`}>{letter.run_id}</Link>, meta: { hide: 'sm', width: 110 } },
    { id: 'died', header: () => t('Died'), cell: ({ row: { original: letter } }) => <Time at={letter.died_at} show="both" />, meta: { sort: 'died_at', width: 190, narrow: 86 } },
    { id: 'tries', header: () => t('Tries'), cell: ({ row: { original: letter } }) => <span className="num">{letter.attempt ?? ''}</span>, meta: { align: 'right', hide: 'md', width: 60 } },
    { id: 'error', header: () => t('What went wrong'), cell: ({ row: { original: letter } }) => <span className="quiet" title={letter.error ?? ''}>{toldBy(letter.error ?? '').title}</span>, meta: { hide: 'sm' } },
  ]
}
