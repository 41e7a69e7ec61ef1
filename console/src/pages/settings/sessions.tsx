import { Button } from '@mantine/core'
import { IconLogout } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { call } from '@/api/client'
import type { SessionView } from '@/api/schema'
import { t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { DataTable, type Selection } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { tell } from '@/parts/notify'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import { browserOf } from './browser'

/** Browsers that the caller is signed in with. */
export function Sessions() {
  const ask = useConfirm()
  const queries = useQueryClient()
  const asked = useQuery({ queryKey: ['sessions'], queryFn: () => call('GET /sessions', {}) })
  const end = (chosen: SessionView[]) => {
    if (chosen.length === 0) return
    ask({
      title: t('End sessions'),
      object: chosen.length === 1 && chosen[0] ? browserOf(chosen[0].agent) : tn('{count} session', '{count} sessions', chosen.length),
      effect: `${t('These browsers are signed out within two seconds.')}${chosen.some((each) => each.current) ? ` ${t('This one is among them.')}` : ''}`,
      verb: t('End'),
      destructive: true,
      reason: 'optional',
      act: async (reason) => {
        // That of this browser comes last: nothing can be asked after it.
        for (const each of [...chosen].sort((one, other) => Number(one.current) - Number(other.current))) await call('DELETE /sessions/{session}', { path: { session: each.session_id }, reason })
        tell(tn('{count} session has ended', '{count} sessions have ended', chosen.length))
        await queries.invalidateQueries({ queryKey: ['sessions'] })
      },
    })
  }
  const columns: ColumnDef<SessionView>[] = [
    { id: 'browser', header: () => t('Browser'), cell: ({ row: { original: each } }) => <span title={each.agent ?? ''}><strong>{browserOf(each.agent)}</strong>{each.current && <> <Status status="live" label={t('this one')} /></>}</span>, meta: { sort: 'browser', value: (each) => browserOf(each.agent) } },
    { id: 'address', header: () => t('Address'), cell: ({ row: { original: each } }) => each.address ?? '–', meta: { sort: 'address', value: (each) => each.address, hide: 'sm' } },
    { id: 'method', header: () => t('Signed in with'), cell: ({ row: { original: each } }) => (each.method === 'link' ? t('a link') : t('the provider')), meta: { sort: 'method', value: (each) => each.method, hide: 'md' } },
    { id: 'made', header: () => t('Signed in'), cell: ({ row: { original: each } }) => <Time at={each.created_at} />, meta: { sort: 'made', value: (each) => each.created_at, hide: 'md' } },
    { id: 'used', header: () => t('Last used'), cell: ({ row: { original: each } }) => <Time at={each.used_at} />, meta: { sort: 'used', value: (each) => each.used_at } },
    { id: 'ends', header: () => t('Ends'), cell: ({ row: { original: each } }) => <Time at={each.expires_at} />, meta: { sort: 'ends', value: (each) => each.expires_at, hide: 'sm' } },
    { id: 'actions', header: () => <span className="hidden-label">{t('Actions')}</span>, cell: ({ row: { original: each } }) => <Button variant="subtle" color="red" onClick={() => end([each])}>{t('End')}</Button>, meta: { align: 'right' } },
  ]
  return (
    <DataTable<SessionView>
      name="sessions"
      label={t('Your sessions')}
      title={t('Your sessions')}
      columns={columns}
      whole={{ rows: asked.data, error: asked.error, text: (each) => [each.agent, each.address].join(' ') }}
      keyOf={(each) => each.session_id}
      filters={[{ name: 'search', label: t('Browser or address'), kind: 'text', width: 190 }]}
      bulk={[{ label: t('End'), icon: <IconLogout size={14} />, color: 'var(--bad)', act: (selection: Selection<SessionView>) => end(selection.rows) }]}
      empty={<Empty title={t('No browser session')} command="sexton login">{t('Browsers that signed in stand here. You did not need to.')}</Empty>}
    />
  )
}
