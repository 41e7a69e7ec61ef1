/** API keys: made, rotated, revoked, one or several. */
import { Alert, Button, Group, Select, TextInput } from '@mantine/core'
import { IconKeyOff, IconPlus } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useState } from 'react'
import { call } from '@/api/client'
import type { KeyView, NewKey, Role } from '@/api/schema'
import { useSession, useZone } from '@/frame/session'
import { t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { Code } from '@/parts/Copy'
import { DataTable, type Selection } from '@/parts/DataTable'
import { Dialog } from '@/parts/Dialog'
import { Empty } from '@/parts/Empty'
import { shortly } from '@/parts/instant'
import { tell } from '@/parts/notify'
import { Failure } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'

const ROLES: Role[] = ['viewer', 'worker', 'operator', 'editor', 'admin']
const stateOf = (key: KeyView) => (key.revoked_at ? 'revoked' : 'active')

export function Keys() {
  const ask = useConfirm()
  const zone = useZone()
  const queries = useQueryClient()
  const [making, setMaking] = useState(false)
  const [made, setMade] = useState<NewKey | null>(null)
  const keys = useQuery({ queryKey: ['keys'], queryFn: () => call('GET /keys', { query: { limit: 500 } }) })
  const refresh = () => queries.invalidateQueries({ queryKey: ['keys'] })
  const used = (key: KeyView) => (key.last_used_at ? t('last used {time}', { time: shortly(new Date(key.last_used_at), zone, new Date()) }) : t('never used'))
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
        for (const key of chosen) await call('DELETE /keys/{key}', { path: { key: key.key_id }, reason })
        tell(tn('{count} key is revoked', '{count} keys are revoked', chosen.length))
        await refresh()
      },
    })
  }
  const rotate = (key: KeyView) => ask({ title: t('Rotate a key'), object: `${key.name} (${key.beginning}…)`, effect: `${used(key)}. ${t('A new key is made; the old one goes on for a day.')}`, verb: t('Rotate'), act: async (reason) => { setMade(await call('POST /keys/{key}/rotate', { path: { key: key.key_id }, body: {}, reason })); await refresh() } })
  const columns: ColumnDef<KeyView>[] = [
    { id: 'name', header: () => t('Name'), cell: ({ row: { original: key } }) => <strong>{key.name}</strong>, meta: { sort: 'name', value: (key) => key.name } },
    { id: 'role', header: () => t('Role'), cell: ({ row: { original: key } }) => t(key.role), meta: { sort: 'role', value: (key) => ROLES.indexOf(key.role), hide: 'sm' } },
    { id: 'namespace', header: () => t('Namespace'), cell: ({ row: { original: key } }) => key.namespace, meta: { sort: 'namespace', value: (key) => key.namespace, hide: 'md' } },
    { id: 'beginning', header: () => t('Begins with'), cell: ({ row: { original: key } }) => <code>{key.beginning}…</code>, meta: { hide: 'md' } },
    { id: 'used', header: () => t('Last used'), cell: ({ row: { original: key } }) => <Time at={key.last_used_at} />, meta: { sort: 'used', value: (key) => key.last_used_at, hide: 'sm' } },
    { id: 'made', header: () => t('Made'), cell: ({ row: { original: key } }) => <><Time at={key.created_at} /> <span className="quiet">{key.created_by}</span></>, meta: { sort: 'made', value: (key) => key.created_at, hide: 'lg' } },
    { id: 'ends', header: () => t('Ends'), cell: ({ row: { original: key } }) => (key.expires_at ? <Time at={key.expires_at} /> : t('never')), meta: { sort: 'ends', value: (key) => key.expires_at, hide: 'md' } },
    { id: 'state', header: () => t('State'), cell: ({ row: { original: key } }) => <Status status={key.revoked_at ? 'deleted' : 'active'} label={t(stateOf(key))} />, meta: { sort: 'state', value: stateOf } },
    { id: 'actions', header: () => <span className="hidden-label">{t('Actions')}</span>, cell: ({ row: { original: key } }) => !key.revoked_at && <><Button variant="subtle" color="gray" onClick={() => rotate(key)}>{t('Rotate')}</Button><Button variant="subtle" color="red" onClick={() => revoke([key])}>{t('Revoke')}</Button></>, meta: { align: 'right' } },
  ]
  return (
    <>
      <DataTable<KeyView>
        name="keys"
        label={t('API keys')}
        columns={columns}
        whole={{ rows: keys.data, error: keys.error, text: (key) => [key.name, key.beginning, key.namespace, key.created_by].join(' '), values: { role: (key) => key.role, state: stateOf } }}
        keyOf={(key) => key.key_id}
        filters={[{ name: 'search', label: t('Name or beginning'), kind: 'text', width: 180 }, { name: 'role', label: t('Role'), options: ROLES.map((value) => ({ value, label: t(value) })), width: 120 }, { name: 'state', label: t('State'), options: ['active', 'revoked'].map((value) => ({ value, label: t(value) })), width: 120 }]}
        bulk={[{ label: t('Revoke'), icon: <IconKeyOff size={14} />, color: 'var(--bad)', act: (selection: Selection<KeyView>) => revoke(selection.rows.filter((key) => !key.revoked_at)) }]}
        toolbar={<Button leftSection={<IconPlus size={14} />} onClick={() => setMaking(true)}>{t('New key')}</Button>}
        empty={<Empty title={t('No keys yet')} command="sexton keys create --name deploy --role editor">{t('Programs show a key; people sign in.')}</Empty>}
      />
      {making && <MakeKey close={() => setMaking(false)} done={async (key) => { setMade(key); setMaking(false); await refresh() }} />}
      <Dialog opened={made !== null} onClose={() => setMade(null)} title={<strong>{t('The new key')}</strong>}>
        <p>{t('Copy it now: it is shown once, and only its hash is kept.')}</p>
        {made && <Code>{made.key}</Code>}
      </Dialog>
    </>
  )
}

function MakeKey({ close, done }: { close: () => void; done: (key: NewKey) => unknown }) {
  const { namespace } = useSession()
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const make = async () => {
    setBusy(true)
    try {
      done(await call('POST /keys', { body: { name, role, namespace } }))
    } catch (failure) {
      setError(failure)
      setBusy(false)
    }
  }
  return (
    <Dialog opened onClose={close} title={<strong>{t('New key')}</strong>}>
      <form onSubmit={(event) => { event.preventDefault(); void make() }}>
        <TextInput label={t('Name')} description={t('Which program uses it; it stands in the audit.')} required data-autofocus value={name} onChange={(event) => setName(event.currentTarget.value)} />
        <Select mt="sm" label={t('Role')} allowDeselect={false} value={role} onChange={(value) => setRole((value ?? 'viewer') as Role)} data={ROLES.map((value) => ({ value, label: t(value) }))} />
        {error !== null && <Alert mt="md" color="red" p={0}><Failure error={error} /></Alert>}
        <Group justify="flex-end" mt="lg" gap="xs"><Button variant="default" onClick={close}>{t('Close')}</Button><Button type="submit" loading={busy}>{t('Make the key')}</Button></Group>
      </form>
    </Dialog>
  )
}
