/** API keys: made, rotated, revoked, one or several. */
import { Button, Group, NumberInput, Select, TextInput } from '@mantine/core'
import { IconKeyOff, IconPlus } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useState } from 'react'
import { call, page } from '@/api/client'
import type { KeyView, NewKey, Role } from '@/api/schema'
import { EVERYWHERE, useSession, useZone } from '@/frame/session'
import { t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { Code } from '@/parts/Copy'
import { DataTable, type Selection } from '@/parts/DataTable'
import { Dialog } from '@/parts/Dialog'
import { Empty } from '@/parts/Empty'
import { FormDialog } from '@/parts/FormDialog'
import { inZones } from '@/parts/instant'
import { tell } from '@/parts/notify'
import { everyRow } from '@/parts/rows'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import { ROLE_TEXTS } from './roles'

const ROLES: Role[] = ['viewer', 'worker', 'operator', 'editor', 'admin']
const DAY_MS = 86_400_000
const stateOf = (key: KeyView) => (key.revoked_at ? 'revoked' : key.expires_at && new Date(key.expires_at) <= new Date() ? 'expired' : 'active')
const LOOKS: Record<string, string> = { active: 'active', expired: 'expired', revoked: 'deleted' }
const namespaceName = (name: string) => (name === EVERYWHERE ? t('all namespaces') : name)

export function Keys() {
  const ask = useConfirm()
  const zone = useZone()
  const queries = useQueryClient()
  const session = useSession()
  const every = session.mayEverywhere('admin')
  const [making, setMaking] = useState(false)
  const [made, setMade] = useState<NewKey | null>(null)
  // Those of all namespaces are in none: who may see them is shown them in each.
  const keys = useQuery({ queryKey: ['keys'], queryFn: async () => (await everyRow((cursor) => page('GET /keys', { query: { limit: 1000, every, cursor } }))).items.filter((key) => key.namespace === session.namespace || key.namespace === EVERYWHERE).reverse() })
  const refresh = () => queries.invalidateQueries({ queryKey: ['keys'] })
  const used = (key: KeyView) => (key.last_used_at ? t('last used {time}', { time: inZones(new Date(key.last_used_at), [zone], new Date()) }) : t('never used'))
  const revoke = (chosen: KeyView[]) => {
    const [first] = chosen
    if (!first) {
      tell(t('They are revoked already'))
      return
    }
    const inUse = chosen.filter((key) => key.last_used_at).length
    ask({
      title: chosen.length === 1 ? t('Revoke a key') : t('Revoke keys'),
      object: chosen.length === 1 ? `${first.name} (${first.beginning}…)` : `${tn('{count} key', '{count} keys', chosen.length)}: ${chosen.map((key) => key.name).join(', ')}`,
      effect: `${chosen.length === 1 ? `${t(first.role)}, ${used(first)}` : tn('{count} of them has been used', '{count} of them have been used', inUse)}. ${t('Programs that use it are refused within two seconds.')}`,
      verb: chosen.length === 1 ? t('Revoke') : `${t('Revoke')} · ${tn('{count} key', '{count} keys', chosen.length)}`,
      destructive: true,
      reason: 'required',
      act: async (reason) => {
        try {
          for (const key of chosen) await call('DELETE /keys/{key}', { path: { key: key.key_id }, reason })
        } finally {
          await refresh()
        }
        tell(tn('{count} key is revoked', '{count} keys are revoked', chosen.length))
      },
    })
  }
  const rotate = (key: KeyView) => ask({ title: t('Rotate a key'), object: `${key.name} (${key.beginning}…)`, effect: `${used(key)}. ${t('A new key is made; the old one goes on for a day.')}`, verb: t('Rotate'), act: async (reason) => { setMade(await call('POST /keys/{key}/rotate', { path: { key: key.key_id }, body: {}, reason })); await refresh() } })
  const columns: ColumnDef<KeyView>[] = [
    { id: 'name', header: () => t('Name'), cell: ({ row: { original: key } }) => <strong>{key.name}</strong>, meta: { sort: 'name', value: (key) => key.name } },
    { id: 'role', header: () => t('Role'), cell: ({ row: { original: key } }) => t(key.role), meta: { sort: 'role', value: (key) => ROLES.indexOf(key.role), hide: 'sm' } },
    { id: 'namespace', header: () => t('Namespace'), cell: ({ row: { original: key } }) => namespaceName(key.namespace), meta: { sort: 'namespace', value: (key) => key.namespace, hide: 'md' } },
    { id: 'beginning', header: () => t('Begins with'), cell: ({ row: { original: key } }) => <code>{key.beginning}…</code>, meta: { hide: 'md' } },
    { id: 'used', header: () => t('Last used'), cell: ({ row: { original: key } }) => <Time at={key.last_used_at} />, meta: { sort: 'used', value: (key) => key.last_used_at, hide: 'sm' } },
    { id: 'made', header: () => t('Made'), cell: ({ row: { original: key } }) => <><Time at={key.created_at} /> <span className="quiet">{key.created_by}</span></>, meta: { sort: 'made', value: (key) => key.created_at, hide: 'lg' } },
    { id: 'ends', header: () => t('Ends'), cell: ({ row: { original: key } }) => (key.expires_at ? <Time at={key.expires_at} /> : t('never')), meta: { sort: 'ends', value: (key) => key.expires_at, hide: 'md' } },
    { id: 'state', header: () => t('State'), cell: ({ row: { original: key } }) => <Status status={LOOKS[stateOf(key)]} label={t(stateOf(key))} />, meta: { sort: 'state', value: stateOf } },
    { id: 'actions', header: () => <span className="hidden-label">{t('Actions')}</span>, cell: ({ row: { original: key } }) => stateOf(key) === 'active' && <><Button variant="subtle" color="gray" onClick={() => rotate(key)}>{t('Rotate')}</Button><Button variant="subtle" color="red" onClick={() => revoke([key])}>{t('Revoke')}</Button></>, meta: { align: 'right' } },
  ]
  return (
    <>
      <DataTable<KeyView>
        name="keys"
        label={t('API keys')}
        columns={columns}
        whole={{ rows: keys.data, error: keys.error, text: (key) => [key.name, key.beginning, key.namespace, key.created_by].join(' '), values: { role: (key) => key.role, state: stateOf } }}
        keyOf={(key) => key.key_id}
        filters={[{ name: 'search', label: t('Name or beginning'), kind: 'text', width: 180 }, { name: 'role', label: t('Role'), options: ROLES.map((value) => ({ value, label: t(value) })), width: 120 }, { name: 'state', label: t('State'), options: ['active', 'expired', 'revoked'].map((value) => ({ value, label: t(value) })), width: 120 }]}
        bulk={[{ label: t('Revoke'), icon: <IconKeyOff size={14} />, color: 'var(--bad)', act: (selection: Selection<KeyView>) => revoke(selection.rows.filter((key) => !key.revoked_at)) }]}
        toolbar={<Button leftSection={<IconPlus size={14} />} onClick={() => setMaking(true)}>{t('New key')}</Button>}
        empty={<Empty title={t('No keys yet')} command="sexton keys create --name deploy --role editor">{t('Programs show a key; people sign in.')}</Empty>}
      />
      {making && <MakeKey close={() => setMaking(false)} done={(key) => { setMade(key); void refresh() }} />}
      <Dialog opened={made !== null} onClose={() => setMade(null)} title={<strong>{t('The new key')}</strong>}>
        <p>{t('Copy it now: it is shown once, and only its hash is kept.')}</p>
        {made && <Code>{made.key}</Code>}
      </Dialog>
    </>
  )
}

/** How long a key lasts, in days. */
const LIFETIMES = ['7', '30', '90', '365', 'never']

function MakeKey({ close, done }: { close: () => void; done: (key: NewKey) => unknown }) {
  const session = useSession()
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  const [namespace, setNamespace] = useState(session.namespace)
  const [lifetime, setLifetime] = useState('90')
  const [rate, setRate] = useState<number | null>(null)
  const make = async () => {
    const expires_at = lifetime === 'never' ? null : new Date(Date.now() + Number(lifetime) * DAY_MS).toISOString()
    done(await call('POST /keys', { body: { name, role, namespace, expires_at, rate } }))
  }
  return (
    <FormDialog title={t('New key')} verb={t('Make the key')} fields={['name', 'rate']} close={close} save={make}>
      {(error) => (
        <>
          <TextInput label={t('Name')} description={t('Which program uses it; it stands in the audit.')} required data-autofocus maxLength={200} value={name} onChange={(event) => setName(event.currentTarget.value)} error={error('name')} />
          <Select mt="sm" label={t('Role')} description={ROLE_TEXTS()[role]} allowDeselect={false} value={role} onChange={(value) => setRole((value ?? 'viewer') as Role)} data={ROLES.map((value) => ({ value, label: t(value) }))} />
          {session.mayEverywhere('admin') && <Select mt="sm" label={t('Namespace')} allowDeselect={false} value={namespace} onChange={(value) => setNamespace(value ?? session.namespace)} data={[session.namespace, EVERYWHERE].map((value) => ({ value, label: namespaceName(value) }))} />}
          <Group grow align="start" mt="sm">
            <Select label={t('Ends')} allowDeselect={false} value={lifetime} onChange={(value) => setLifetime(value ?? 'never')} data={LIFETIMES.map((value) => ({ value, label: value === 'never' ? t('never') : t('in {count} days', { count: value }) }))} />
            <NumberInput label={t('Requests per second')} placeholder={t('the usual limit')} min={0.1} value={rate ?? ''} onChange={(value) => setRate(value === '' ? null : Number(value))} error={error('rate')} />
          </Group>
        </>
      )}
    </FormDialog>
  )
}
