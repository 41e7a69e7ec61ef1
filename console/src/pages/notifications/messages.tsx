import { Button } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import { Link, useParams } from 'react-router'
import { call, page } from '@/api/client'
import type { NotificationView } from '@/api/schema'
import { useSession } from '@/frame/session'
import { t } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { DataTable, type Filters } from '@/parts/DataTable'
import { channelName } from '@/parts/channel'
import { Empty } from '@/parts/Empty'
import { Answer, Columns, Facts, Page, Panel, Stack } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import classes from './Notifications.module.css'

export function Messages() {
  const columns = useMemo((): ColumnDef<NotificationView>[] => [
    { id: 'status', header: () => t('Status'), cell: ({ row: { original: each } }) => <Status status={each.status} /> },
    { id: 'id', header: () => t('Message'), cell: ({ row: { original: each } }) => <Link to={`/notifications/messages/${each.notification_id}`} className="mono">{each.notification_id}</Link> },
    { id: 'to', header: () => t('To'), cell: ({ row: { original: each } }) => (each.user_id ? <Link to={`/notifications/recipients/${encodeURIComponent(each.user_id)}`} className="link">{each.user_id}</Link> : '–') },
    { id: 'channel', header: () => t('Channel'), cell: ({ row: { original: each } }) => channelName(each.channel), meta: { hide: 'sm' } },
    { id: 'template', header: () => t('Template'), cell: ({ row: { original: each } }) => each.template_id, meta: { hide: 'md' } },
    { id: 'when', header: () => t('When'), cell: ({ row: { original: each } }) => <Time at={each.send_at_utc} zone={each.timezone} show="both" /> },
    { id: 'why', header: () => t('What went wrong'), cell: ({ row: { original: each } }) => <span className="quiet">{each.failure_reason ?? each.hold_reason ?? ''}</span>, meta: { hide: 'lg' } },
  ], [])
  return (
    <DataTable<NotificationView>
      name="messages"
      label={t('Messages')}
      columns={columns}
      load={(filters: Filters, cursor, signal) => page('GET /notifications', { query: { limit: 100, cursor, ...filters } as never, signal })}
      keyOf={(each) => each.notification_id}
      to={(each) => `/notifications/messages/${each.notification_id}`}
      filters={[{ name: 'user_id', label: t('Recipient'), kind: 'text' }, { name: 'template_id', label: t('Template'), kind: 'text', width: 160 }, { name: 'status', label: t('Status'), options: ['pending', 'held', 'processing', 'sent', 'delivered', 'failed', 'bounced', 'suppressed', 'expired', 'cancelled', 'unconfirmed'].map((value) => ({ value, label: t(value) })) }]}
      empty={<Empty title={t('No messages yet')} command="sexton notify --help" />}
    />
  )
}

/** What became of one message, in order. */
export function Message() {
  const { message: id = '' } = useParams()
  const asked = useQuery({ queryKey: ['messages', id], queryFn: () => call('GET /notifications/{notification}/why', { path: { notification: id } }) })
  return (
    <Answer query={asked}>
      {({ notification: each, summary, lines }) => (
        <Page title={each.user_id ?? id} mark={<><Status status={each.status} /><code className="quiet">{id}</code></>} crumbs={[{ to: '/notifications/messages', name: t('Messages') }]} about={summary} actions={<Controls message={each} />}>
          <Columns side>
            <Stack><Panel title={t('What became of it')}><ol className={classes.timeline}>{lines.map((line, index) => <li key={index}><Time at={line.at} show="both" seconds /><p>{line.text}</p></li>)}</ol></Panel></Stack>
            <Panel title={t('Facts')}><Facts items={[[t('Channel'), each.channels.map(channelName).join(' → ')], [t('Recipient'), each.user_id && <Link key="r" className="link" to={`/notifications/recipients/${encodeURIComponent(each.user_id)}`}>{each.user_id}</Link>], [t('Template'), <Link key="t" className="link" to={`/notifications/templates/${encodeURIComponent(each.template_id)}`}>{each.template_id}</Link>], [t('When'), <Time key="w" at={each.send_at_utc} zone={each.timezone} show="both" />], [t('Tries'), each.retry_count + 1], [t('Provider'), each.provider], [t('Campaign'), each.campaign_id && <Link key="c" className="link" to={`/notifications/campaigns/${each.campaign_id}`}>{each.campaign_id}</Link>], [t('Planned by'), each.created_by]]} /></Panel>
          </Columns>
        </Page>
      )}
    </Answer>
  )
}

/** Call it off while it has not gone, or send it again where it is not known whether it has. */
function Controls({ message }: { message: NotificationView }) {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  if (!session.may('operator')) return null
  const path = { notification: message.notification_id }
  const object = `${message.template_id} → ${message.user_id ?? message.channel}`
  const refresh = () => queries.invalidateQueries({ queryKey: ['messages'] })
  return (
    <>
      {message.status === 'unconfirmed' && <Button onClick={() => ask({ title: t('Send a message again'), object, effect: t('It may have gone out already: then it is there twice.'), verb: t('Send again'), act: async (reason) => { await call('POST /notifications/{notification}/resend', { path, reason }); await refresh() } })}>{t('Send again')}</Button>}
      {(message.status === 'pending' || message.status === 'held') && <Button variant="default" c="var(--bad)" onClick={() => ask({ title: t('Call a message off'), object, effect: t('It does not go out.'), verb: t('Call off'), destructive: true, act: async (reason) => { await call('POST /notifications/{notification}/cancel', { path, reason }); await refresh() } })}>{t('Call off')}</Button>}
    </>
  )
}
