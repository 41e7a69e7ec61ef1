/** Campaigns with their progress and controls, messages with what became of them, templates, recipients, channels. */
import { Tabs } from '@mantine/core'
import { Navigate, Route, Routes, useNavigate, useParams } from 'react-router'
import { t } from '@/i18n'
import { Page } from '@/parts/Page'
import { tabOf } from '@/parts/tab'
import { showChosen } from '@/parts/tabs'
import { Campaign } from './campaign'
import { Campaigns } from './campaigns'
import { Channels } from './channels'
import { Message, Messages } from './messages'
import { NewCampaign, NewCampaignButton } from './new-campaign'
import { Recipient, Recipients } from './recipients'
import { NewTemplate, Template } from './template'
import { NewTemplateButton, Templates } from './templates'

const TABS: [string, string][] = [['campaigns', 'Campaigns'], ['messages', 'Messages'], ['templates', 'Templates'], ['recipients', 'Recipients'], ['channels', 'Channels']]
export default function Notifications() {
  return (
    <Routes>
      <Route path="campaigns/new" element={<NewCampaign />} />
      <Route path="campaigns/:campaign" element={<Campaign />} />
      <Route path="messages/:message" element={<Message />} />
      <Route path="templates/new" element={<NewTemplate />} />
      <Route path="templates/:template" element={<Template />} />
      <Route path="recipients/:recipient" element={<Recipient />} />
      <Route path=":tab" element={<Tabbed />} />
      <Route path="*" element={<Navigate to="/notifications/campaigns" replace />} />
    </Routes>
  )
}

function Tabbed() {
  const params = useParams()
  const tab = tabOf(TABS.map(([value]) => value), params['tab'])
  const navigate = useNavigate()
  return (
    <Page title={t('Notifications')} actions={tab === 'campaigns' ? <NewCampaignButton /> : tab === 'templates' && <NewTemplateButton />}>
      <Tabs value={tab} onChange={(value) => void navigate(`/notifications/${value}`)} keepMounted={false}>
        <Tabs.List mb="sm" ref={showChosen}>{TABS.map(([value, name]) => <Tabs.Tab key={value} value={value}>{t(name)}</Tabs.Tab>)}</Tabs.List>
        <Tabs.Panel value="campaigns"><Campaigns /></Tabs.Panel>
        <Tabs.Panel value="messages"><Messages /></Tabs.Panel>
        <Tabs.Panel value="templates"><Templates /></Tabs.Panel>
        <Tabs.Panel value="recipients"><Recipients /></Tabs.Panel>
        <Tabs.Panel value="channels"><Channels /></Tabs.Panel>
      </Tabs>
    </Page>
  )
}
