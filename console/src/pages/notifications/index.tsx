/** Campaigns with their progress and controls, messages with what became of them, templates, recipients, channels. */
import { Button, Progress, Tabs } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import { Link, Navigate, Route, Routes, useNavigate, useParams } from 'react-router'
import { call, page } from '@/api/client'
import type { CampaignView, NotificationView, ProviderView, RecipientView, TemplateView } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { DataTable, type Filters } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { Json } from '@/parts/Json'
import { Answer, Columns, Facts, Page, Panel, Stack } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'

const TABS: [string, string][] = [['campaigns', 'Campaigns'], ['messages', 'Messages'], ['templates', 'Templates'], ['recipients', 'Recipients'], ['channels', 'Channels']]
const GOING = new Set(['scheduled', 'preparing', 'prepared', 'sending', 'waiting'])

export default function Notifications() {
  return (
    <Routes>
      <Route path="campaigns/:campaign" element={<Campaign />} />
      <Route path="messages/:message" element={<Message />} />
      <Route path=":tab" element={<Tabbed />} />
      <Route path="*" element={<Navigate to="/notifications/campaigns" replace />} />
    </Routes>
  )
}

function Tabbed() {
  const { tab = 'campaigns' } = useParams()
  const navigate = useNavigate()
  return (
    <Page title={t('Notifications')}>
      <Tabs value={tab} onChange={(value) => void navigate(`/notifications/${value}`)} keepMounted={false}>
        <Tabs.List mb="sm">{TABS.map(([value, name]) => <Tabs.Tab key={value} value={value}>{t(name)}</Tabs.Tab>)}</Tabs.List>
        <Tabs.Panel value="campaigns"><Campaigns /></Tabs.Panel>
        <Tabs.Panel value="messages"><Messages /></Tabs.Panel>
        <Tabs.Panel value="templates"><Templates /></Tabs.Panel>
        <Tabs.Panel value="recipients"><Recipients /></Tabs.Panel>
        <Tabs.Panel value="channels"><Channels /></Tabs.Panel>
      </Tabs>
    </Page>
  )
}

export function doneShare({ counts }: Pick<CampaignView, 'counts'>): number {
  return counts.total ? ((counts.total - counts.left) / counts.total) * 100 : 0
}

function Bar({ campaign }: { campaign: CampaignView }) {
  const { counts } = campaign
  return (
    <div style={{ display: 'flex', alignItems: 'center', gap: 8 }}>
      <Progress value={doneShare(campaign)} w={110} aria-label={t('{done} of {total}', { done: counts.total - counts.left, total: counts.total })} />
      <span className="num">{number(counts.total - counts.left)}/{number(counts.total)}</span>
    </div>
  )
}

function Campaigns() {
  const columns = useMemo((): ColumnDef<CampaignView>[] => [
    { id: 'name', header: () => t('Campaign'), cell: ({ row: { original: each } }) => <Link to={`/notifications/campaigns/${each.campaign_id}`} className="link">{each.name}</Link> },
    { id: 'status', header: () => t('Status'), cell: ({ row: { original: each } }) => <Status status={each.status} /> },
    { id: 'progress', header: () => t('Progress'), cell: ({ row: { original: each } }) => <Bar campaign={each} />, meta: { hide: 'sm' } },
    { id: 'failed', header: () => t('Failed'), cell: ({ row: { original: each } }) => <span className={each.counts.failed ? 'bad num' : 'num'}>{number(each.counts.failed)}</span>, meta: { align: 'right', hide: 'md' } },
    { id: 'when', header: () => t('When'), cell: ({ row: { original: each } }) => (each.send_at ? <Time at={each.send_at} zone={each.timezone} show="both" /> : (each.local_time ?? '–')) },
    { id: 'by', header: () => t('Planned by'), cell: ({ row: { original: each } }) => each.created_by, meta: { hide: 'md' } },
  ], [])
  return (
    <DataTable<CampaignView>
      name="campaigns"
      label={t('Campaigns')}
      columns={columns}
      load={(filters: Filters, cursor, signal) => page('GET /campaigns', { query: { limit: 100, cursor, ...filters } as never, signal })}
      keyOf={(each) => each.campaign_id}
      to={(each) => `/notifications/campaigns/${each.campaign_id}`}
      filters={[{ name: 'status', label: t('Status'), options: ['draft', 'scheduled', 'preparing', 'sending', 'waiting', 'paused', 'done', 'failed', 'cancelled'].map((value) => ({ value, label: t(value) })) }]}
      empty={<Empty title={t('No campaigns yet')} command="sexton campaigns --help">{t('A campaign sends one template to many, each at the right local time.')}</Empty>}
    />
  )
}

function Campaign() {
  const { campaign: id = '' } = useParams()
  const asked = useQuery({ queryKey: ['campaigns', id], queryFn: () => call('GET /campaigns/{campaign}', { path: { campaign: id } }), refetchInterval: ({ state }) => (state.data && GOING.has(state.data.status) ? 2000 : false) })
  return (
    <Answer query={asked}>
      {(campaign) => {
        const { counts } = campaign
        return (
          <Page title={campaign.name} mark={<Status status={campaign.status} />} crumbs={[{ to: '/notifications/campaigns', name: t('Campaigns') }]} about={campaign.waits_for ?? campaign.reason ?? campaign.description} actions={<Controls campaign={campaign} />}>
            <Panel title={t('Progress')} right={campaign.eta ? <>{t('ends')} <Time at={campaign.eta} show="both" /></> : undefined}>
              <Progress size="lg" value={doneShare(campaign)} aria-label={t('Progress')} mb="md" />
              <Facts items={[[t('Recipients'), number(counts.total)], [t('Sent'), number(counts.sent)], [t('Left'), number(counts.left)], [t('Failed'), number(counts.failed)], [t('Suppressed'), number(counts.suppressed)], [t('Expired'), number(counts.expired)], [t('Unconfirmed'), number(counts.unconfirmed)], [t('Per second'), campaign.per_second === null ? null : number(campaign.per_second, 1)]]} />
            </Panel>
            <Columns side>
              <Panel title={t('Audience')}><Json value={campaign.audience} /></Panel>
              <Panel title={t('Facts')}><Facts items={[[t('Template'), `${campaign.template_id} ${campaign.template_version}`], [t('Channels'), campaign.channels.join(', ')], [t('When'), campaign.send_at ? <Time key="w" at={campaign.send_at} zone={campaign.timezone} show="both" /> : campaign.local_time], [t('Runs per second'), campaign.rate], [t('Planned by'), campaign.created_by], [t('Job'), <Link key="j" className="link" to={`/jobs/${campaign.job_id}`}>{campaign.job_id}</Link>]]} /></Panel>
            </Columns>
          </Page>
        )
      }}
    </Answer>
  )
}

function Controls({ campaign }: { campaign: CampaignView }) {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  if (!session.may('operator')) return null
  const path = { campaign: campaign.campaign_id }
  const left = tn('{count} message is left', '{count} messages are left', campaign.counts.left)
  const question = (title: string, verb: string, effect: string, act: (reason: string | undefined) => Promise<unknown>, destructive = false) => () =>
    ask({ title, object: campaign.name, effect: `${left}. ${effect}`, verb, destructive, act: async (reason) => { await act(reason); await queries.invalidateQueries({ queryKey: ['campaigns'] }) } })
  return (
    <>
      {campaign.status === 'draft' && <Button onClick={question(t('Start a campaign'), t('Start'), t('It goes out at its time.'), (reason) => call('POST /campaigns/{campaign}/start', { path, body: {}, reason }))}>{t('Start')}</Button>}
      {GOING.has(campaign.status) && <Button variant="default" onClick={question(t('Pause a campaign'), t('Pause'), t('What has gone out is not taken back.'), (reason) => call('POST /campaigns/{campaign}/pause', { path, body: {}, reason }))}>{t('Pause')}</Button>}
      {campaign.status === 'paused' && <Button onClick={question(t('Resume a campaign'), t('Resume'), t('It goes on where it stopped.'), (reason) => call('POST /campaigns/{campaign}/resume', { path, body: {}, reason } as never))}>{t('Resume')}</Button>}
      {(GOING.has(campaign.status) || campaign.status === 'paused' || campaign.status === 'draft') && <Button variant="default" c="var(--bad)" onClick={question(t('Cancel a campaign'), t('Cancel it'), t('What has gone out is not taken back.'), (reason) => call('POST /campaigns/{campaign}/cancel', { path, body: {}, reason } as never), true)}>{t('Cancel it')}</Button>}
    </>
  )
}

function Messages() {
  const columns = useMemo((): ColumnDef<NotificationView>[] => [
    { id: 'status', header: () => t('Status'), cell: ({ row: { original: each } }) => <Status status={each.status} /> },
    { id: 'id', header: () => t('Message'), cell: ({ row: { original: each } }) => <Link to={`/notifications/messages/${each.notification_id}`} className="mono">{each.notification_id}</Link> },
    { id: 'to', header: () => t('To'), cell: ({ row: { original: each } }) => each.user_id ?? '–' },
    { id: 'channel', header: () => t('Channel'), cell: ({ row: { original: each } }) => each.channel, meta: { hide: 'sm' } },
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
      filters={[{ name: 'user_id', label: t('Recipient'), kind: 'text' }, { name: 'status', label: t('Status'), options: ['pending', 'held', 'processing', 'sent', 'delivered', 'failed', 'bounced', 'suppressed', 'expired', 'cancelled', 'unconfirmed'].map((value) => ({ value, label: t(value) })) }]}
      empty={<Empty title={t('No messages yet')} command="sexton notify --help" />}
    />
  )
}

/** What became of one message, in order. */
function Message() {
  const { message: id = '' } = useParams()
  const asked = useQuery({ queryKey: ['messages', id], queryFn: () => call('GET /notifications/{notification}/why', { path: { notification: id } }) })
  return (
    <Answer query={asked}>
      {({ notification: each, summary, lines }) => (
        <Page title={each.user_id ?? id} mark={<><Status status={each.status} /><code className="quiet">{id}</code></>} crumbs={[{ to: '/notifications/messages', name: t('Messages') }]} about={summary}>
          <Columns side>
            <Stack><Panel title={t('What became of it')}><ul>{lines.map((line, index) => <li key={index}><Time at={line.at} show="both" seconds /> {line.text}</li>)}</ul></Panel></Stack>
            <Panel title={t('Facts')}><Facts items={[[t('Channel'), each.channels.join(' → ')], [t('Template'), each.template_id], [t('When'), <Time key="w" at={each.send_at_utc} zone={each.timezone} show="both" />], [t('Tries'), each.retry_count + 1], [t('Provider'), each.provider], [t('Campaign'), each.campaign_id && <Link key="c" className="link" to={`/notifications/campaigns/${each.campaign_id}`}>{each.campaign_id}</Link>], [t('Planned by'), each.created_by]]} /></Panel>
          </Columns>
        </Page>
      )}
    </Answer>
  )
}

function Templates() {
  const columns = useMemo((): ColumnDef<TemplateView>[] => [
    { id: 'id', header: () => t('Template'), cell: ({ row: { original: each } }) => <strong>{each.template_id}</strong> },
    { id: 'version', header: () => t('Version'), cell: ({ row: { original: each } }) => each.latest_version },
    { id: 'locales', header: () => t('Languages'), cell: ({ row: { original: each } }) => Object.keys(each.locales).join(', ') },
    { id: 'topic', header: () => t('Topic'), cell: ({ row: { original: each } }) => each.topic ?? '–', meta: { hide: 'sm' } },
    { id: 'by', header: () => t('Changed'), cell: ({ row: { original: each } }) => <><Time at={each.created_at} /> <span className="quiet">{each.created_by}</span></>, meta: { hide: 'sm' } },
  ], [])
  return <DataTable<TemplateView> name="templates" label={t('Templates')} columns={columns} load={(_filters, cursor, signal) => page('GET /templates', { query: { limit: 100, cursor }, signal })} keyOf={(each) => each.template_id} empty={<Empty title={t('No templates yet')} command="sexton templates --help" />} />
}

function Recipients() {
  const columns = useMemo((): ColumnDef<RecipientView>[] => [
    { id: 'id', header: () => t('Recipient'), cell: ({ row: { original: each } }) => <strong>{each.user_id}</strong> },
    { id: 'email', header: () => t('E-mail'), cell: ({ row: { original: each } }) => each.email ?? '–' },
    { id: 'phone', header: () => t('Phone'), cell: ({ row: { original: each } }) => each.phone ?? '–', meta: { hide: 'md' } },
    { id: 'zone', header: () => t('Time zone'), cell: ({ row: { original: each } }) => each.timezone ?? '–', meta: { hide: 'sm' } },
    { id: 'changed', header: () => t('Changed'), cell: ({ row: { original: each } }) => <Time at={each.updated_at} />, meta: { hide: 'sm' } },
  ], [])
  return <DataTable<RecipientView> name="recipients" label={t('Recipients')} columns={columns} load={(_filters, cursor, signal) => page('GET /recipients', { query: { limit: 100, cursor }, signal })} keyOf={(each) => each.user_id} empty={<Empty title={t('No recipients yet')} command="sexton recipients --help" />} />
}

function Channels() {
  const columns = useMemo((): ColumnDef<ProviderView>[] => [
    { id: 'name', header: () => t('Provider'), cell: ({ row: { original: each } }) => <strong>{each.name}</strong> },
    { id: 'channel', header: () => t('Channel'), cell: ({ row: { original: each } }) => each.channel },
    { id: 'kind', header: () => t('Kind'), cell: ({ row: { original: each } }) => each.kind },
    { id: 'state', header: () => t('State'), cell: ({ row: { original: each } }) => <Status status={each.enabled ? 'active' : 'paused'} /> },
    { id: 'rate', header: () => t('Per second'), cell: ({ row: { original: each } }) => each.rate ?? t('no limit'), meta: { hide: 'sm' } },
  ], [])
  return <DataTable<ProviderView> name="providers" label={t('Channels')} columns={columns} load={(_filters, _cursor, signal) => page('GET /notifications/providers', { signal })} keyOf={(each) => each.name} empty={<Empty title={t('No providers yet')} command="sexton providers --help">{t('Without one, messages are written to files: good for trying things out.')}</Empty>} />
}
