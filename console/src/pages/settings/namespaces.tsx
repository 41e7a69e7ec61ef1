/** Namespaces, what each uses of what it may use, and both changed. */
import { Button, NumberInput, Progress, TextInput, UnstyledButton } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useState } from 'react'
import { call } from '@/api/client'
import type { NamespaceView, Quotas } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, t } from '@/i18n'
import { DataTable } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { FormDialog } from '@/parts/FormDialog'
import { tell } from '@/parts/notify'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import classes from './Settings.module.css'

export function Namespaces() {
  const session = useSession()
  const queries = useQueryClient()
  const may = session.mayEverywhere('admin')
  // That of which the quotas are changed; null beside `open`: a new one.
  const [editing, setEditing] = useState<{ namespace: NamespaceView | null } | null>(null)
  const asked = useQuery({ queryKey: ['namespaces', 'used'], queryFn: async () => Promise.all((await call('GET /namespaces', {})).map((each, place) => (place < MOST_ASKED ? call('GET /namespaces/{namespace}', { path: { namespace: each.name } }).catch(() => each) : each))) })
  const columns: ColumnDef<NamespaceView>[] = [
    { id: 'name', header: () => t('Name'), cell: ({ row: { original: each } }) => <><span className={classes.named}>{each.name === session.namespace ? <strong>{each.name}</strong> : <UnstyledButton className="link" fz="inherit" title={t('Switch to it')} onClick={() => session.setNamespace(each.name)}>{each.name}</UnstyledButton>}{each.name === session.namespace && <> <Status status="live" label={t('this one')} /></>}</span>{each.description && <div className="quiet clip">{each.description}</div>}</>, meta: { sort: 'name', value: (each) => each.name } },
    { id: 'jobs', header: () => t('Jobs'), cell: ({ row: { original: each } }) => <Use used={each.used?.jobs} most={each.quotas?.jobs} label={t('Jobs')} />, meta: { sort: 'jobs', value: (each) => each.used?.jobs } },
    { id: 'runs', header: () => t('Live runs'), cell: ({ row: { original: each } }) => <Use used={each.used?.live_runs} most={each.quotas?.live_runs} label={t('Live runs')} />, meta: { sort: 'runs', value: (each) => each.used?.live_runs, hide: 'sm' } },
    { id: 'quotas', header: () => t('Other quotas'), cell: ({ row: { original: each } }) => <span className="quiet">{otherQuotas(each.quotas) || t('none')}</span>, meta: { hide: 'md' } },
    { id: 'made', header: () => t('Made'), cell: ({ row: { original: each } }) => <Time at={each.created_at} />, meta: { sort: 'made', value: (each) => each.created_at, hide: 'sm' } },
    ...(may ? [{ id: 'actions', header: () => <span className="hidden-label">{t('Actions')}</span>, cell: ({ row: { original: each } }: { row: { original: NamespaceView } }) => <Button variant="subtle" color="gray" onClick={() => setEditing({ namespace: each })}>{t('Quotas')}</Button>, meta: { align: 'right' as const, width: 96 } }] : []),
  ]
  return (
    <>
    <DataTable<NamespaceView>
      name="namespaces"
      label={t('Namespaces')}
      columns={columns}
      whole={{ rows: asked.data, error: asked.error, text: (each) => `${each.name} ${each.description ?? ''}` }}
      keyOf={(each) => each.name}
      filters={[{ name: 'search', label: t('Name or description'), kind: 'text' }]}
      toolbar={may && <Button leftSection={<IconPlus size={14} />} onClick={() => setEditing({ namespace: null })}>{t('New namespace')}</Button>}
      empty={<Empty title={t('No namespaces')} command="sexton namespaces create team-a">{t('A namespace keeps the jobs of a team apart from those of others.')}</Empty>}
    />
    {editing && (editing.namespace
      ? <ChangeQuotas namespace={editing.namespace} close={() => setEditing(null)} done={() => queries.invalidateQueries({ queryKey: ['namespaces'] })} />
      : <NewNamespace close={() => setEditing(null)} done={() => queries.invalidateQueries({ queryKey: ['namespaces'] })} />)}
    </>
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

const QUOTAS: { name: keyof Quotas; label: string; hint: string; shown: string; least: number }[] = [
  { name: 'jobs', label: 'Jobs', hint: 'Jobs that are not deleted.', shown: '{count} jobs', least: 0 },
  { name: 'live_runs', label: 'Live runs', hint: 'Runs that have not ended.', shown: '{count} live runs', least: 1 },
  { name: 'firings_per_second', label: 'Firings per second', hint: 'What is more waits.', shown: '{count} firings per second', least: 0.001 },
  { name: 'payload_bytes', label: 'Bytes of a payload', hint: 'As JSON; 262,144 at the most.', shown: 'payloads of {count} bytes', least: 1 },
  { name: 'history_days', label: 'Days of history', hint: 'What is older goes.', shown: '{count} days of history', least: 1 },
  { name: 'campaign_sends_per_day', label: 'Messages of campaigns a day', hint: 'What is more waits for the next day.', shown: '{count} messages of campaigns a day', least: 0 },
]
// Those have columns of their own.
const OTHERS = QUOTAS.filter(({ name }) => name !== 'jobs' && name !== 'live_runs')

function otherQuotas(quotas: Quotas | null | undefined): string {
  return OTHERS.filter(({ name }) => quotas?.[name] != null).map(({ name, shown }) => t(shown, { count: number(quotas?.[name] ?? 0) })).join(', ')
}

function NewNamespace({ close, done }: { close(): void; done(): unknown }) {
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  return (
    <FormDialog title={t('New namespace')} verb={t('Make it')} fields={['name', 'description']} close={close} save={async () => { await call('POST /namespaces', { body: { name: name.trim(), description: description.trim() || null } }); tell(t('The namespace {name} is there', { name: name.trim() })); await done() }}>
      {(error) => (
        <>
          <TextInput label={t('Name')} description={t('Lower-case letters, digits and hyphens. It cannot be changed later.')} required data-autofocus maxLength={63} placeholder="billing" value={name} onChange={(event) => setName(event.currentTarget.value)} error={error('name')} />
          <TextInput mt="sm" label={t('Description')} maxLength={1000} value={description} onChange={(event) => setDescription(event.currentTarget.value)} error={error('description')} />
        </>
      )}
    </FormDialog>
  )
}

/** What it may use at the most; a quota that is empty is none. Only what was changed is sent. */
function ChangeQuotas({ namespace, close, done }: { namespace: NamespaceView; close(): void; done(): unknown }) {
  const [description, setDescription] = useState(namespace.description ?? '')
  const [quotas, setQuotas] = useState<Quotas>(namespace.quotas)
  const used: Partial<Record<keyof Quotas, number | undefined>> = { jobs: namespace.used?.jobs, live_runs: namespace.used?.live_runs }
  const save = async () => {
    const changed = Object.fromEntries(QUOTAS.filter(({ name }) => quotas[name] !== namespace.quotas[name]).map(({ name }) => [name, quotas[name]]))
    await call('PATCH /namespaces/{namespace}', { path: { namespace: namespace.name }, body: { ...changed, ...(description.trim() === (namespace.description ?? '') ? {} : { description: description.trim() || null }) } })
    tell(t('The quotas of {name} hold within seconds', { name: namespace.name }))
    await done()
  }
  return (
    <FormDialog title={t('Quotas of {name}', { name: namespace.name })} verb={t('Save')} fields={['description', ...QUOTAS.map(({ name }) => name)]} close={close} save={save}>
      {(error) => (
        <>
          <p className="quiet">{t('What the namespace may use at the most. Empty: as much as it likes. What there is already stays.')}</p>
          <div className={classes.quotas}>
            {QUOTAS.map(({ name, label, hint, least }) => (
              <NumberInput key={name} label={t(label)} description={`${t(hint)}${used[name] === undefined ? '' : ` ${t('In use: {count}.', { count: number(used[name]) })}`}`} placeholder={t('no limit')} min={least} thousandSeparator="," value={quotas[name] ?? ''} onChange={(value) => setQuotas({ ...quotas, [name]: value === '' ? null : Number(value) })} error={error(name)} />
            ))}
          </div>
          <TextInput mt="sm" label={t('Description')} maxLength={1000} value={description} onChange={(event) => setDescription(event.currentTarget.value)} error={error('description')} />
        </>
      )}
    </FormDialog>
  )
}
