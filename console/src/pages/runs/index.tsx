import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useSearchParams } from 'react-router'
import { address, call, listed, type Paged } from '@/api/client'
import type { RunCounts, RunView } from '@/api/schema'
import { number, t } from '@/i18n'
import { DataTable, type Filter, type Filters } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { findJobs } from '@/parts/finding'
import { Page } from '@/parts/Page'
import { Dot, toneOf } from '@/parts/Status'
import { Time } from '@/parts/Time'
import { STATES, TRIGGERS, useRunActions } from './bulk'
import { runColumns, runKey } from './columns'
import classes from './Runs.module.css'

function asked(filters: Filters): Record<string, unknown> {
  return { limit: 100, ...(filters['status']?.includes('skipped') ? { include: 'skipped' } : {}), ...filters }
}

function load(filters: Filters, cursor: string | null, signal: AbortSignal): Promise<Paged<RunView[]>> {
  return listed('GET /runs', asked(filters), cursor, signal)
}

const follow = (filters: Filters) => address('GET /runs', {}, asked(filters))

export default function Runs() {
  const queries = useQueryClient()
  const columns = useMemo(() => runColumns(), [])
  const filters: Filter[] = [
    { name: 'job', label: t('Job'), kind: 'found', find: findJobs, width: 180 },
    { name: 'status', label: t('Status'), kind: 'hidden' },
    { name: 'trigger', label: t('Trigger'), options: TRIGGERS.map((value) => ({ value, label: t(value) })), width: 120 },
    { name: 'queue', label: t('Queue'), kind: 'text', width: 120 },
    { name: 'error', label: t('Error text'), kind: 'text', width: 150 },
    { name: 'late', label: t('Late'), options: [{ value: 'true', label: t('late ones') }], width: 100 },
    { name: 'since', label: t('Since'), kind: 'since', width: 150 },
    { name: 'until', label: t('Until'), kind: 'hidden' },
  ]
  const bulk = useRunActions(() => queries.invalidateQueries({ predicate: ({ queryKey: [first] }) => ['runs', 'run-counts'].includes(String(first)) }))
  const counts = useCounts()
  return (
    <Page title={t('Runs')} about={counts && <>{t('Those that have ended are of the time since')} <Time at={counts.since} show="clock" /></>}>
      <Counts counts={counts} />
      <DataTable
        name="runs"
        label={t('Runs')}
        columns={columns}
        load={load}
        follow={follow}
        keyOf={runKey}
        to={(run) => (run.run_id ? `/runs/${run.run_id}` : null)}
        filters={filters}
        bulk={bulk}
        exported="/export/runs"
        steady
        empty={<Empty title={t('Nothing has run yet')} command="sexton jobs add hello --schedule 'every 10s' --handler sexton.log --follow">{t('Runs appear here as soon as a job fires. To see some now:')}</Empty>}
      />
    </Page>
  )
}

function useCounts(): RunCounts | undefined {
  const [search] = useSearchParams()
  const given = Object.fromEntries([...search].filter(([name]) => ['job', 'trigger', 'queue', 'since', 'until'].includes(name)))
  return useQuery({ queryKey: ['run-counts', given], queryFn: () => call('GET /runs/counts', { query: given }), meta: { follow: address('GET /runs/counts', {}, given) }, placeholderData: keepPreviousData }).data
}

/** How many are in each state; a click shows them. */
function Counts({ counts }: { counts: RunCounts | undefined }) {
  const [search, setSearch] = useSearchParams()
  // An address may name several.
  const chosen = search.get('status')?.split(',') ?? []
  return (
    <div className={classes.counts} role="group" aria-label={t('Runs by state')}>
      {STATES.map((state) => {
        const count = counts?.[state]
        return (
          <button
            key={state}
            type="button"
            aria-pressed={chosen.includes(state)}
            onClick={() =>
              setSearch((before) => {
                const next = new URLSearchParams(before)
                if (chosen.join() === state) next.delete('status')
                else next.set('status', state)
                return next
              })
            }
          >
            <Dot tone={toneOf(state)} />
            <span>{t(state)}</span>
            <strong className="num">{count === undefined ? '–' : `${number(count)}${counts?.estimated && count > 0 ? '+' : ''}`}</strong>
          </button>
        )
      })}
    </div>
  )
}
