import { Alert, Button, Group, PasswordInput, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useState } from 'react'
import { call } from '@/api/client'
import type { SecretUses, SecretView } from '@/api/schema'
import { number, t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { DataTable } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { tell } from '@/parts/notify'
import { Failure, Panel, Stack } from '@/parts/Page'
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
  const ask = useConfirm()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [value, setValue] = useState('')
  const [hosts, setHosts] = useState('')
  const [error, setError] = useState<unknown>(null)
  const asked = useQuery({ queryKey: ['secrets'], queryFn: () => call('GET /secrets', {}) })
  const refresh = () => queries.invalidateQueries({ queryKey: ['secrets'] })
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
    { id: 'actions', header: () => <span className="hidden-label">{t('Actions')}</span>, cell: ({ row: { original: secret } }) => <Button variant="subtle" color="red" onClick={() => void remove(secret)}>{t('Delete')}</Button>, meta: { align: 'right' } },
  ]
  const save = async () => {
    setError(null)
    try {
      const named = hosts.split(/[\s,]+/).filter(Boolean)
      await call('PUT /secrets/{secret}', { path: { secret: name }, body: { value, ...(named.length ? { hosts: named } : {}) } })
      tell(t('{name} is stored', { name }))
      setName('')
      setValue('')
      setHosts('')
      await refresh()
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Stack>
      <Panel title={t('Store a secret')}>
        <form onSubmit={(event) => { event.preventDefault(); void save() }}>
          <Group gap="xs" align="end">
            <TextInput label={t('Name')} required value={name} onChange={(event) => setName(event.currentTarget.value)} placeholder="smtp-password" />
            <PasswordInput size="xs" label={t('Value')} required value={value} onChange={(event) => setValue(event.currentTarget.value)} w={260} autoComplete="off" />
            <TextInput label={t('Goes to')} value={hosts} onChange={(event) => setHosts(event.currentTarget.value)} placeholder="smtp.example.com" w={220} />
            <Button type="submit">{t('Store')}</Button>
          </Group>
          <p className="quiet" style={{ marginTop: 8 }}>{t('It is encrypted and never shown again, and goes to these hosts only; one that is an address goes to its own. Targets name it:')} <code>{'{"secret": "smtp-password"}'}</code></p>
          {error !== null && <Alert mt="md" color="red" p={0}><Failure error={error} /></Alert>}
        </form>
      </Panel>
      <DataTable<SecretView>
        name="secrets"
        label={t('Secrets')}
        title={t('Secrets')}
        columns={columns}
        whole={{ rows: asked.data, error: asked.error, text: (secret) => [secret.name, ...secret.hosts].join(' ') }}
        keyOf={(secret) => secret.name}
        filters={[{ name: 'search', label: t('Name or host'), kind: 'text' }]}
        empty={<Empty title={t('No secrets yet')} command="sexton secret set smtp-password --host smtp.example.com" />}
      />
    </Stack>
  )
}
