import { Progress } from '@mantine/core'
import { IconBan, IconPlayerPause, IconPlayerPlay, IconSend } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import { Link } from 'react-router'
import { listed } from '@/api/client'
import type { CampaignView } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, t } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { DataTable, type Filters, type Selection } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { askForMany } from '@/parts/many'
import { Time } from '@/parts/Time'
import { CampaignStatus, localTime } from './campaign'
import { campaignAction } from './many'
import { NewCampaignButton } from './new-campaign'
import { doneOf, doneShare } from './pace'

function Bar({ campaign }: { campaign: CampaignView }) {
  const { counts } = campaign
  if (counts.total === 0) return <span className="quiet">–</span>
  return (
    <div style={{ display: 'flex', alignItems: 'center', gap: 8 }}>
      <Progress value={doneShare(counts)} w={96} style={{ flex: 'none' }} color={campaign.status === 'done' ? 'var(--good-mark)' : 'var(--accent)'} aria-label={t('{done} of {total}', { done: doneOf(counts), total: counts.total })} />
      <span className="num">{number(doneOf(counts))}/{number(counts.total)}</span>
    </div>
  )
}

export function Campaigns() {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  const act = (action: Parameters<typeof campaignAction>[0]) => (selection: Selection<CampaignView>) => void askForMany(ask, campaignAction(action), selection, (each) => each.campaign_id, () => queries.invalidateQueries({ queryKey: ['campaigns'] }))
  const bulk = session.may('operator')
    ? [
        { label: t('Start'), icon: <IconSend size={14} />, act: act('start') },
        { label: t('Pause'), icon: <IconPlayerPause size={14} />, act: act('pause') },
        { label: t('Resume'), icon: <IconPlayerPlay size={14} />, act: act('resume') },
        { label: t('Cancel'), icon: <IconBan size={14} />, color: 'var(--bad)', act: act('cancel') },
      ]
    : []
  const columns = useMemo((): ColumnDef<CampaignView>[] => [
    { id: 'name', header: () => t('Campaign'), cell: ({ row: { original: each } }) => <Link to={`/notifications/campaigns/${each.campaign_id}`} className="link">{each.name}</Link>, meta: { sort: 'name' } },
    { id: 'status', header: () => t('Status'), cell: ({ row: { original: each } }) => <CampaignStatus status={each.status} />, meta: { width: 112, narrow: 112 } },
    { id: 'progress', header: () => t('Progress'), cell: ({ row: { original: each } }) => <Bar campaign={each} />, meta: { hide: 'sm', width: 204 } },
    { id: 'failed', header: () => t('Failed'), cell: ({ row: { original: each } }) => <span className={each.counts.failed ? 'bad num' : 'num'}>{number(each.counts.failed)}</span>, meta: { align: 'right', hide: 'md', width: 74 } },
    { id: 'when', header: () => t('When'), cell: ({ row: { original: each } }) => (each.send_at ? <Time at={each.send_at} zone={each.timezone} show="both" /> : (each.local_time ? <span title={localTime(each.local_time) ?? undefined}>{each.local_time.replace(/:00$/, '')} <span className="quiet">{t('local')}</span></span> : '–')), meta: { sort: 'send_at', hide: 'sm', width: 204 } },
    { id: 'made', header: () => t('Made'), cell: ({ row: { original: each } }) => <Time at={each.created_at} />, meta: { sort: 'created_at', hide: 'lg', width: 92 } },
    { id: 'by', header: () => t('Planned by'), cell: ({ row: { original: each } }) => each.created_by, meta: { hide: 'md', width: 96 } },
  ], [])
  return (
    <DataTable<CampaignView>
      name="campaigns"
      label={t('Campaigns')}
      columns={columns}
      load={(filters: Filters, cursor, signal) => listed('GET /campaigns', filters, cursor, signal)}
      keyOf={(each) => each.campaign_id}
      to={(each) => `/notifications/campaigns/${each.campaign_id}`}
      filters={[{ name: 'search', label: t('Part of the name'), kind: 'text' }, { name: 'status', label: t('Status'), options: ['draft', 'scheduled', 'preparing', 'sending', 'waiting', 'paused', 'done', 'failed', 'cancelled'].map((value) => ({ value, label: t(value) })) }]}
      bulk={bulk}
      steady
      empty={<Empty title={t('No campaigns yet')} action={<NewCampaignButton />} command="sexton campaigns create --name spring --template-id spring --segment customers --local-time '2027-03-14 08:00'">{t('A campaign sends one template to many, each at the right local time.')}</Empty>}
    />
  )
}
