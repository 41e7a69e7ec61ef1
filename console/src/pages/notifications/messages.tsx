import { Button } from '@mantine/core'
import { IconArrowsSplit2, IconBan, IconCalendar, IconCheck, IconClock, IconClockOff, IconEye, IconPlayerPause, IconPointFilled, IconQuestionMark, IconRefresh, IconSend, IconX, type Icon } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import { Link, useParams, useSearchParams } from 'react-router'
import { call, listed } from '@/api/client'
import type { NotificationView, WhyLine } from '@/api/schema'
import { useSession } from '@/frame/session'
import { t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { DataTable, type Filters, type Selection } from '@/parts/DataTable'
import { channelName } from '@/parts/channel'
import { Empty } from '@/parts/Empty'
import { findCampaigns, findRecipients, findTemplates } from '@/parts/finding'
import { askForMany, takeBack } from '@/parts/many'
import { tell, tellUndo } from '@/parts/notify'
import { Columns, Facts, Page, PageOf, Panel, Stack } from '@/parts/Page'
import { useActing } from '@/parts/sending'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import { cancelling } from './many'
import classes from './Notifications.module.css'

/** Those of a campaign come by their recipients, others as they were made; the server knows no other order of each. */
export function fitting(filters: Filters): Filters {
  const { sort, ...others } = filters
  const known = filters['campaign_id'] && !filters['user_id'] ? 'user_id' : 'created_at'
  return sort?.replace(/^-/, '') === known ? filters : others
}

export function Messages() {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  const [search] = useSearchParams()
  const ofCampaign = Boolean(search.get('campaign_id') && !search.get('user_id'))
  const bulk = session.may('operator') ? [{ label: t('Cancel'), icon: <IconBan size={14} />, color: 'var(--bad)', act: (selection: Selection<NotificationView>) => void askForMany(ask, cancelling(), selection, (each) => each.notification_id, () => queries.invalidateQueries({ queryKey: ['messages'] })) }] : []
  const columns = useMemo((): ColumnDef<NotificationView>[] => [
    { id: 'status', header: () => t('Status'), cell: ({ row: { original: each } }) => <Status status={each.status} /> },
    { id: 'id', header: () => t('Message'), cell: ({ row: { original: each } }) => <Link to={`/notifications/messages/${each.notification_id}`} className="link mono">{each.notification_id}</Link>, meta: ofCampaign ? { hide: 'sm' } : { sort: 'created_at', hide: 'sm' } },
    { id: 'to', header: () => t('To'), cell: ({ row: { original: each } }) => (each.user_id ? <Link to={`/notifications/recipients/${encodeURIComponent(each.user_id)}`} className="link">{each.user_id}</Link> : '–'), meta: ofCampaign ? { sort: 'user_id' } : {} },
    { id: 'channel', header: () => t('Channel'), cell: ({ row: { original: each } }) => channelName(each.channel), meta: { hide: 'sm' } },
    { id: 'template', header: () => t('Template'), cell: ({ row: { original: each } }) => each.template_id, meta: { hide: 'md' } },
    { id: 'when', header: () => t('When'), cell: ({ row: { original: each } }) => <Time at={each.send_at_utc} zone={each.timezone} show="both" /> },
    { id: 'why', header: () => t('What went wrong'), cell: ({ row: { original: each } }) => <span className="quiet">{each.failure_reason ?? each.hold_reason ?? ''}</span>, meta: { hide: 'lg' } },
  ], [ofCampaign])
  return (
    <DataTable<NotificationView>
      name="messages"
      label={t('Messages')}
      columns={columns}
      load={(filters: Filters, cursor, signal) => listed('GET /notifications', fitting(filters), cursor, signal)}
      keyOf={(each) => each.notification_id}
      to={(each) => `/notifications/messages/${each.notification_id}`}
      filters={[{ name: 'user_id', label: t('Recipient'), kind: 'found', find: findRecipients, width: 200 }, { name: 'template_id', label: t('Template'), kind: 'found', find: findTemplates, width: 170 }, { name: 'campaign_id', label: t('Campaign'), kind: 'found', find: findCampaigns, width: 150 }, { name: 'status', label: t('Status'), options: ['pending', 'held', 'processing', 'sent', 'delivered', 'failed', 'bounced', 'suppressed', 'expired', 'cancelled', 'unconfirmed'].map((value) => ({ value, label: t(value) })) }]}
      bulk={bulk}
      empty={<Empty title={t('No messages yet')} command="sexton notify send hello --to ann --var name=Ann">{t('A message is a template for one recipient, at a time. To send one now:')}</Empty>}
    />
  )
}

/** What became of one message, in order. */
export function Message() {
  const { message: id = '' } = useParams()
  const asked = useQuery({ queryKey: ['messages', id], queryFn: () => call('GET /notifications/{notification}/why', { path: { notification: id } }) })
  return (
    <PageOf query={asked} list={{ to: '/notifications/messages', name: t('Messages') }}>
      {({ notification: each, lines }) => (
        <Page title={each.user_id ?? id} mark={<><Status status={each.status} /><code className="quiet">{id}</code></>} crumbs={[{ to: '/notifications/messages', name: t('Messages') }]} about={t('{template} by {channels}', { template: each.template_id, channels: each.channels.map(channelName).join(' → ') })} actions={<Controls message={each} />}>
          <Columns side>
            <Stack><Panel title={t('What became of it, and why')} right={each.timezone && t('times in the text: {zone}', { zone: each.timezone })}><ol className={classes.why}>{lines.map((line, index) => <WhyStep key={index} line={line} last={index === lines.length - 1} />)}{each.next_at && new Date(each.next_at) > new Date() && (each.status === 'held' || each.status === 'pending') && <li data-tone="idle" data-next><span className={classes.sign}><IconClock size={13} aria-hidden /></span><div><strong>{t('It is looked at again')}</strong> <span className="quiet"><Time at={each.next_at} zone={each.timezone} show="both" /></span></div></li>}</ol></Panel></Stack>
            <Panel title={t('Facts')}><Facts items={[[t('Channel'), each.channels.map(channelName).join(' → ')], [t('Recipient'), each.user_id && <Link key="r" className="link" to={`/notifications/recipients/${encodeURIComponent(each.user_id)}`}>{each.user_id}</Link>], [t('Template'), <Link key="t" className="link" to={`/notifications/templates/${encodeURIComponent(each.template_id)}`}>{each.template_id}</Link>], [t('When'), <Time key="w" at={each.send_at_utc} zone={each.timezone} show="both" />], [t('Tries'), each.retry_count + 1], [t('Provider'), each.provider], [t('Campaign'), each.campaign_id && <Link key="c" className="link" to={`/notifications/campaigns/${each.campaign_id}`}>{each.campaign_id}</Link>], [t('Planned by'), each.created_by]]} /></Panel>
          </Columns>
        </Page>
      )}
    </PageOf>
  )
}

const SIGNS: Record<string, [Icon, string]> = {
  scheduled: [IconCalendar, 'idle'], held: [IconPlayerPause, 'warn'], retry: [IconRefresh, 'warn'], fell_back: [IconArrowsSplit2, 'warn'], sent: [IconSend, 'good'], delivered: [IconCheck, 'good'], read: [IconEye, 'good'],
  failed: [IconX, 'bad'], bounced: [IconX, 'bad'], rejected: [IconX, 'bad'], suppressed: [IconBan, 'idle'], expired: [IconClockOff, 'warn'], cancelled: [IconBan, 'idle'], unconfirmed: [IconQuestionMark, 'warn'],
}

/** One thing that happened to it: a sign, what, when, and when that was where the recipient is. */
function WhyStep({ line, last }: { line: WhyLine; last: boolean }) {
  const [Sign, tone] = SIGNS[line.kind] ?? [IconPointFilled, 'idle']
  return (
    <li data-tone={tone} data-last={last || undefined}>
      <span className={classes.sign}><Sign size={13} aria-hidden /></span>
      <div><strong>{t(line.kind.replaceAll('_', ' '))}</strong> <span className="quiet"><Time at={line.at} show="both" seconds /></span><p>{line.text}</p></div>
    </li>
  )
}

/** Cancel it while it has not gone; where it is not known whether it has, send it again or count it as sent. */
function Controls({ message }: { message: NotificationView }) {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  const [busy, act] = useActing()
  if (!session.may('operator')) return null
  const path = { notification: message.notification_id }
  const object = `${message.template_id} → ${message.user_id ?? message.channel}`
  const refresh = () => queries.invalidateQueries({ queryKey: ['messages'] })
  // What belongs to a campaign is counted there, and what is late is not sent later.
  const restorable = !message.campaign_id && new Date(message.send_at_utc) > new Date()
  const restore = () => takeBack('notifications', 'restore', [message.notification_id], refresh)
  return (
    <>
      {message.status === 'unconfirmed' && <Button onClick={() => ask({ title: t('Send a message again'), object, effect: t('It may have gone out already: then it is there twice.'), verb: t('Send again'), act: async (reason) => { await call('POST /notifications/{notification}/resend', { path, reason }); await refresh() } })}>{t('Send again')}</Button>}
      {message.status === 'unconfirmed' && <Button variant="default" onClick={() => ask({ title: t('Count a message as sent'), object, effect: t('It is not sent again.'), verb: t('Count as sent'), act: async (reason) => { await call('POST /notifications/{notification}/confirm', { path, reason }); await refresh() } })}>{t('Count as sent')}</Button>}
      {(message.status === 'pending' || message.status === 'held') && <Button variant="default" c="var(--bad)" onClick={() => ask({ title: t('Cancel a message'), object, effect: `${tn('{count} message', '{count} messages', 1)}: ${t('it was to go out {time}', { time: message.local_time_display })}. ${t('It does not go out.')}`, verb: t('Cancel'), destructive: true, undoable: restorable, reason: 'required', act: async (reason) => { await call('POST /notifications/{notification}/cancel', { path, reason }); if (restorable) tellUndo(t('The message to {name} is cancelled', { name: message.user_id ?? message.channel }), () => restore()); await refresh() } })}>{t('Cancel')}</Button>}
      {message.status === 'cancelled' && restorable && <Button variant="default" loading={busy} onClick={() => void act(async () => { await restore(); tell(t('The message goes out at its time again')) })}>{t('Restore')}</Button>}
    </>
  )
}
