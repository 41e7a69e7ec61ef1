import { Button, Progress } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import { Link, useParams } from 'react-router'
import { call, page } from '@/api/client'
import type { CampaignCheck, CampaignView } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { DataTable, type Filters } from '@/parts/DataTable'
import { channelName } from '@/parts/channel'
import { Empty } from '@/parts/Empty'
import { Json } from '@/parts/Json'
import { Answer, Columns, Facts, Page, Panel, Stack } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import tables from '../queues/Queues.module.css'
import classes from './Notifications.module.css'

const GOING = new Set(['scheduled', 'preparing', 'prepared', 'sending', 'waiting'])

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

export function Campaigns() {
  const columns = useMemo((): ColumnDef<CampaignView>[] => [
    { id: 'name', header: () => t('Campaign'), cell: ({ row: { original: each } }) => <Link to={`/notifications/campaigns/${each.campaign_id}`} className="link">{each.name}</Link> },
    { id: 'status', header: () => t('Status'), cell: ({ row: { original: each } }) => <Status status={each.status} /> },
    { id: 'progress', header: () => t('Progress'), cell: ({ row: { original: each } }) => <Bar campaign={each} />, meta: { hide: 'sm' } },
    { id: 'failed', header: () => t('Failed'), cell: ({ row: { original: each } }) => <span className={each.counts.failed ? 'bad num' : 'num'}>{number(each.counts.failed)}</span>, meta: { align: 'right', hide: 'md' } },
    { id: 'when', header: () => t('When'), cell: ({ row: { original: each } }) => (each.send_at ? <Time at={each.send_at} zone={each.timezone} show="both" /> : (localTime(each.local_time) ?? '–')) },
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

export function Campaign() {
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
              <Stack>
                <Panel title={t('Audience')}><Audience campaign={campaign} /></Panel>
                {campaign.check && <Panel title={t('When, by zone')} flush><Zones check={campaign.check} /></Panel>}
              </Stack>
              <Panel title={t('Facts')}><Facts items={[[t('Template'), <Link key="t" className="link" to={`/notifications/templates/${encodeURIComponent(campaign.template_id)}`}>{campaign.template_id} {campaign.template_version}</Link>], [t('Channels'), campaign.channels.map(channelName).join(', ')], [t('When'), campaign.send_at ? <Time key="w" at={campaign.send_at} zone={campaign.timezone} show="both" /> : localTime(campaign.local_time)], [t('Messages per second at most'), campaign.rate ?? t('no limit')], [t('Goes first'), campaign.canary === null ? null : `${number(campaign.canary * 100, 1)} %`], [t('Planned by'), campaign.created_by], [t('Job'), <Link key="j" className="link" to={`/jobs/${campaign.job_id}`}>{campaign.job_id}</Link>]]} /></Panel>
            </Columns>
          </Page>
        )
      }}
    </Answer>
  )
}

/** “2027-03-14 08:00, where each recipient is”. */
function localTime(text: string | null): string | null {
  return text && t('{time}, where each recipient is', { time: text.replace(/:00$/, '') })
}

/** To whom, in words where there are some; the rest as it was asked for. */
function Audience({ campaign }: { campaign: CampaignView }) {
  const { everyone, segment, list, user_ids: ids, ...rest } = campaign.audience as { everyone?: boolean; segment?: string; list?: string; user_ids?: string[] }
  if (everyone) return <p>{t('All recipients of the namespace')}</p>
  if (segment) return <p>{t('The segment')} <strong>{segment}</strong></p>
  if (list) return <p>{t('The list')} <strong>{list}</strong></p>
  if (ids) return <p>{tn('{count} recipient by name', '{count} recipients by name', ids.length)}: <span className="quiet">{ids.slice(0, 5).join(', ')}{ids.length > 5 ? '…' : ''}</span></p>
  return <Json value={rest} />
}

function Zones({ check }: { check: CampaignCheck }) {
  return (
    <>
      <div className={tables.scroll} tabIndex={0} role="group" aria-label={t('When, by zone')}><table className={tables.table}>
        <thead><tr><th scope="col">{t('Time zone')}</th><th scope="col">{t('When')}</th><th scope="col" data-right>{t('Recipients')}</th></tr></thead>
        <tbody>{check.zones.slice(0, 40).map((zone) => <tr key={zone.timezone}><td>{zone.timezone}</td><td>{zone.send_at_utc ? <Time at={zone.send_at_utc} zone={zone.timezone} show="both" /> : t('skipped')}</td><td data-right>{number(zone.recipients)}</td></tr>)}</tbody>
      </table></div>
      <p className={classes.found}>
        {tn('{count} cannot be reached', '{count} cannot be reached', check.unreachable)} · {tn('{count} lacks a variable', '{count} lack a variable', check.incomplete)}
      </p>
    </>
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
      {GOING.has(campaign.status) && <Button variant="default" onClick={question(t('Pause a campaign'), t('Pause'), t('What has gone out is not taken back.'), (reason) => call('POST /campaigns/{campaign}/pause', { path, body: { reason: reason ?? null }, reason }))}>{t('Pause')}</Button>}
      {campaign.status === 'paused' && <Button onClick={question(t('Resume a campaign'), t('Resume'), t('It goes on where it stopped.'), (reason) => call('POST /campaigns/{campaign}/resume', { path, reason }))}>{t('Resume')}</Button>}
      {(GOING.has(campaign.status) || campaign.status === 'paused' || campaign.status === 'draft') && <Button variant="default" c="var(--bad)" onClick={question(t('Cancel a campaign'), t('Cancel it'), t('What has gone out is not taken back.'), (reason) => call('POST /campaigns/{campaign}/cancel', { path, body: { reason: reason ?? null }, reason }), true)}>{t('Cancel it')}</Button>}
    </>
  )
}
