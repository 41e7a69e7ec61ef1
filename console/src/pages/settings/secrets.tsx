import { Alert, Button, PasswordInput, TextInput } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useState } from 'react'
import { call } from '@/api/client'
import type { SecretUses, SecretView } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { DataTable } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { FormDialog } from '@/parts/FormDialog'
import { tell } from '@/parts/notify'
import { Time } from '@/parts/Time'

/** “2 jobs (crm-export, crm-import), the provider mail”. */
export function usedBy(uses: SecretUses): string {
  const named = uses.sample.slice(0, 5)
  const jobs = uses.estimated ? t('{count} jobs or more', { count: number(uses.jobs) }) : tn('{count} job', '{count} jobs', uses.jobs)
  const parts = [
    uses.jobs > 0 && `${jobs} (${named.join(', ')}${uses.jobs > named.length ? '…' : ''})`,
    uses.providers.length > 0 && `${tn('{count} provider', '{count} providers', uses.providers.length)} (${uses.providers.join(', ')})`,
    uses.adapters.length > 0 && `${tn('{count} adapter', '{count} adapters', uses.adapters.length)} (${uses.adapters.join(', ')})`,
  ]
  return parts.filter(Boolean).join(', ')
}

/** Values go in and never come out. */
export function Secrets() {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  // The name of the secret that gets a new value; '': a new secret.
  const [storing, setStoring] = useState<string | null>(null)
  const asked = useQuery({ queryKey: ['secrets'], queryFn: () => call('GET /secrets', {}) })
  const refresh = () => queries.invalidateQueries({ queryKey: ['secrets'] })
  const may = session.may('admin')
  const remove = async (secret: SecretView) => {
    const uses = await call('GET /secrets/{secret}/uses', { path: { secret: secret.name } }).catch(() => null)
    const others = [...(uses?.providers ?? []), ...(uses?.adapters ?? [])]
    ask({
      title: t('Delete a secret'),
      object: secret.name,
      effect: (
        <>
          {uses && <>{uses.jobs === 0 && others.length === 0 ? t('Nothing names it.') : <>{usedBy(uses)} {t('fail from now on, until it is set again.')}</>} </>}
          {!uses && t('Targets that name it fail from now on.')}
        </>
      ),
      verb: t('Delete'),
      destructive: true,
      reason: 'required',
      act: async (reason) => {
        await call('DELETE /secrets/{secret}', { path: { secret: secret.name }, reason })
        tell(t('{name} is deleted', { name: secret.name }))
        await refresh()
      },
    })
  }
  const columns: ColumnDef<SecretView>[] = [
    { id: 'name', header: () => t('Name'), cell: ({ row: { original: secret } }) => <strong>{secret.name}</strong>, meta: { sort: 'name', value: (secret) => secret.name } },
    { id: 'hosts', header: () => t('Goes to'), cell: ({ row: { original: secret } }) => <span className="clip">{secret.hosts.join(', ') || secret.kinds.join(', ') || '–'}</span>, meta: { hide: 'sm' } },
    { id: 'made', header: () => t('Made'), cell: ({ row: { original: secret } }) => <Time at={secret.created_at} />, meta: { sort: 'made', value: (secret) => secret.created_at, hide: 'md' } },
    { id: 'changed', header: () => t('Changed'), cell: ({ row: { original: secret } }) => <Time at={secret.updated_at} />, meta: { sort: 'changed', value: (secret) => secret.updated_at } },
    ...(may ? [{ id: 'actions', header: () => <span className="hidden-label">{t('Actions')}</span>, cell: ({ row: { original: secret } }: { row: { original: SecretView } }) => <><Button variant="subtle" color="gray" onClick={() => setStoring(secret.name)}>{t('Replace')}</Button><Button variant="subtle" color="red" onClick={() => void remove(secret)}>{t('Delete')}</Button></>, meta: { align: 'right' as const, width: 168 } }] : []),
  ]
  return (
    <>
      <DataTable<SecretView>
        name="secrets"
        label={t('Secrets')}
        columns={columns}
        whole={{ rows: asked.data, error: asked.error, text: (secret) => [secret.name, ...secret.hosts].join(' ') }}
        keyOf={(secret) => secret.name}
        filters={[{ name: 'search', label: t('Name or host'), kind: 'text' }]}
        toolbar={may && <Button leftSection={<IconPlus size={14} />} onClick={() => setStoring('')}>{t('Store a secret')}</Button>}
        empty={<Empty title={t('No secrets yet')} command="sexton secret set smtp-password --host smtp.example.com">{t('Passwords and keys of other systems. They are encrypted, go to the hosts that are named, and are never shown.')}</Empty>}
      />
      {storing !== null && <Store known={asked.data ?? []} first={storing} close={() => setStoring(null)} done={refresh} />}
    </>
  )
}

/** A new secret, or a new value of one that is there: what names it gets that from then on. */
function Store({ known, first, close, done }: { known: SecretView[]; first: string; close(): void; done(): unknown }) {
  const there = known.find((each) => each.name === first)
  const [name, setName] = useState(first)
  const [value, setValue] = useState('')
  const [hosts, setHosts] = useState(there?.hosts.join(' ') ?? '')
  const [reason, setReason] = useState('')
  const replaced = known.find((each) => each.name === name.trim())
  const uses = useQuery({ queryKey: ['secrets', replaced?.name, 'uses'], queryFn: () => call('GET /secrets/{secret}/uses', { path: { secret: replaced?.name ?? '' } }), enabled: replaced !== undefined })
  const save = async () => {
    const named = hosts.split(/[\s,]+/).filter(Boolean)
    await call('PUT /secrets/{secret}', { path: { secret: name.trim() }, body: { value, ...(named.length ? { hosts: named } : {}), ...(replaced?.kinds.length ? { kinds: replaced.kinds } : {}) }, reason: (replaced && reason.trim()) || undefined })
    tell(t('{name} is stored', { name: name.trim() }))
    await done()
  }
  return (
    <FormDialog title={replaced ? t('Replace a secret') : t('Store a secret')} verb={replaced ? t('Replace') : t('Store')} fields={['name', 'value', 'hosts']} close={close} save={save}>
      {(error) => (
        <>
          <TextInput label={t('Name')} required {...(first ? { readOnly: true } : { 'data-autofocus': true })} value={name} onChange={(event) => setName(event.currentTarget.value)} placeholder="smtp-password" error={error('name')} />
          <PasswordInput mt="sm" size="xs" label={t('Value')} description={t('It is encrypted and never shown again.')} required {...(first ? { 'data-autofocus': true } : {})} value={value} onChange={(event) => setValue(event.currentTarget.value)} autoComplete="off" error={error('value')} />
          <TextInput mt="sm" label={t('Goes to')} description={t('Hosts that may get it, and no others; empty: it is an address, and goes to its own.')} value={hosts} onChange={(event) => setHosts(event.currentTarget.value)} placeholder="smtp.example.com" error={error('hosts')} />
          <p className="quiet" style={{ marginTop: 12 }}>{t('Targets name it:')} <code>{`{"secret": "${name.trim() || 'smtp-password'}"}`}</code></p>
          {replaced && <Alert mt="sm" color="yellow">{uses.data && usedBy(uses.data) ? <>{usedBy(uses.data)} {t('use the new value from then on.')}</> : t('There is a secret of this name: its value is replaced.')} {t('The old value is gone.')}</Alert>}
          {replaced && <TextInput mt="sm" label={t('Reason')} description={t('Kept in the audit with your name.')} required maxLength={1000} value={reason} onChange={(event) => setReason(event.currentTarget.value)} />}
        </>
      )}
    </FormDialog>
  )
}
