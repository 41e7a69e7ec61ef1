/** What goes out when: a board, a calendar, a list, windows, releases, entities. */
import { Button, Menu, Tabs } from '@mantine/core'
import { IconChevronDown } from '@tabler/icons-react'
import { useState } from 'react'
import { Navigate, Route, Routes, useNavigate, useParams } from 'react-router'
import { useSession } from '@/frame/session'
import { t } from '@/i18n'
import { Page } from '@/parts/Page'
import { tabOf } from '@/parts/tab'
import { showChosen } from '@/parts/tabs'
import { PlanCalendar } from '../calendar/PlanCalendar'
import { Board } from './Board'
import { Entities, Entity } from './entities'
import { PlanAction, PlanRelease, PlanWindow } from './forms'
import { Planned } from './planned'
import { Release, Releases } from './releases'
import { Schedule } from './Schedule'
import { Windows } from './Windows'

const TABS: [string, string][] = [['board', 'Board'], ['calendar', 'Calendar'], ['planned', 'Planned actions'], ['windows', 'Windows'], ['releases', 'Releases'], ['entities', 'Entities']]

const CONTENT = ['content']
/** What is to come is what people look for first. */
const PENDING = '/content/planned?status=pending'

export default function Content() {
  return (
    <Routes>
      <Route path="schedules/:schedule" element={<Schedule />} />
      <Route path="releases/:release" element={<Release />} />
      <Route path="entities/:type/:id" element={<Entity />} />
      <Route path=":tab" element={<Tabbed />} />
      <Route path="*" element={<Navigate to="/content/board" replace />} />
    </Routes>
  )
}

function Tabbed() {
  const params = useParams()
  const tab = tabOf(TABS.map(([value]) => value), params['tab'])
  const navigate = useNavigate()
  const session = useSession()
  const [planning, setPlanning] = useState<'action' | 'window' | 'release' | null>(null)
  return (
    <Page
      title={t('Content')}
      actions={session.may('editor') && (
        <Menu position="bottom-end">
          <Menu.Target><Button rightSection={<IconChevronDown size={14} />}>{t('Plan')}</Button></Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => setPlanning('action')}>{t('An action')}</Menu.Item>
            <Menu.Item onClick={() => setPlanning('window')}>{t('A window: publish, then unpublish')}</Menu.Item>
            <Menu.Item onClick={() => setPlanning('release')}>{t('A release: several together')}</Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
    >
      <Tabs value={tab} onChange={(value) => void navigate(value === 'planned' ? PENDING : `/content/${value}`)} keepMounted={false}>
        <Tabs.List mb="sm" ref={showChosen}>{TABS.map(([value, name]) => <Tabs.Tab key={value} value={value}>{t(name)}</Tabs.Tab>)}</Tabs.List>
        <Tabs.Panel value="board"><Board /></Tabs.Panel>
        <Tabs.Panel value="calendar"><PlanCalendar kinds={CONTENT} first="month" /></Tabs.Panel>
        <Tabs.Panel value="planned"><Planned /></Tabs.Panel>
        <Tabs.Panel value="windows"><Windows /></Tabs.Panel>
        <Tabs.Panel value="releases"><Releases /></Tabs.Panel>
        <Tabs.Panel value="entities"><Entities /></Tabs.Panel>
      </Tabs>
      {planning === 'action' && <PlanAction close={() => setPlanning(null)} />}
      {planning === 'release' && <PlanRelease close={() => setPlanning(null)} />}
      {planning === 'window' && <PlanWindow close={() => setPlanning(null)} />}
    </Page>
  )
}
