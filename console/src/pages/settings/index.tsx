import { Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useSearchParams } from 'react-router'
import { call } from '@/api/client'
import { useSession } from '@/frame/session'
import { t } from '@/i18n'
import { Code } from '@/parts/Copy'
import { Empty } from '@/parts/Empty'
import { Answer, Facts, Page, Panel, Stack } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { tabOf } from '@/parts/tab'
import { showChosen } from '@/parts/tabs'
import { Audit } from './audit'
import { Keys } from './keys'
import { Namespaces } from './namespaces'
import { Secrets } from './secrets'
import { Sessions } from './sessions'
import classes from './Settings.module.css'

export default function Settings() {
  const session = useSession()
  const [search, setSearch] = useSearchParams()
  const tabs: [string, string, ReactNode][] = [
    ['access', t('You'), <Access key="a" />],
    ...(session.may('admin') ? ([['keys', t('API keys'), <Keys key="k" />], ['secrets', t('Secrets'), <Secrets key="s" />]] as [string, string, ReactNode][]) : []),
    ['namespaces', t('Namespaces'), <Namespaces key="n" />],
    ['webhooks', t('Webhooks'), <Webhooks key="w" />],
    ...(session.may('editor') ? ([['audit', t('Audit'), <Audit key="u" />]] as [string, string, ReactNode][]) : []),
  ]
  const tab = tabOf(tabs.map(([value]) => value), search.get('tab'))
  return (
    <Page title={t('Settings')}>
      <Tabs value={tab} onChange={(value) => setSearch({ tab: value ?? 'access' })} keepMounted={false}>
        <Tabs.List mb="sm" ref={showChosen}>{tabs.map(([value, name]) => <Tabs.Tab key={value} value={value}>{name}</Tabs.Tab>)}</Tabs.List>
        {tabs.map(([value, , inside]) => <Tabs.Panel key={value} value={value}>{inside}</Tabs.Panel>)}
      </Tabs>
    </Page>
  )
}

/** How the caller is known. */
const WAYS: Record<string, string> = {
  owner: 'The owner of this Sexton: requests from this machine by its user need no sign-in.',
  key: 'Known by an API key.',
  link: 'Signed in with a link of sexton login.',
  openid: 'Signed in with the provider of your organisation.',
}

function Access() {
  const { caller } = useSession()
  const rows: [string, string][] = [['viewer', t('sees everything in the namespace, changes nothing')], ['worker', t('carries runs out and reports')], ['operator', t('also pauses, runs, cancels, redrives')], ['editor', t('also makes, changes and deletes jobs and content')], ['admin', t('also keys, secrets, quotas')]]
  return (
    <Stack>
      <Panel>
        <div className={classes.who}>
          <span className={classes.face} aria-hidden>{caller.name.replace(/^user:/, '').slice(0, 1)}</span>
          <div><strong>{caller.name}</strong><p className="quiet">{t(WAYS[caller.method] ?? caller.method)}</p></div>
        </div>
      </Panel>
      <Panel title={t('Roles')} flush>
        <ul className={classes.roles}>{rows.map(([role, text]) => {
          const where = Object.entries(caller.roles).filter(([, own]) => own === role).map(([name]) => (name === '*' ? t('all namespaces') : name))
          return <li key={role} data-own={where.length > 0 || undefined}><strong>{t(role)}</strong><span>{text}</span>{where.length > 0 ? <Status status="live" label={`${t('you')}: ${where.slice(0, 3).join(', ')}`} /> : <span />}</li>
        })}</ul>
      </Panel>
      <Sessions />
    </Stack>
  )
}

/** Where dead letters and notices of content go. */
function Webhooks() {
  const dead = useQuery({ queryKey: ['dead-target'], queryFn: () => call('GET /dead/target', {}) })
  const notices = useQuery({ queryKey: ['notices'], queryFn: () => call('GET /content/notices', {}) })
  return (
    <Stack>
      <Panel title={t('Dead letters also go to')}><Answer query={dead}>{(data) => (data.target ? <Code>{JSON.stringify(data.target, null, 2)}</Code> : <Empty title={t('Nowhere else')} command={"echo '{\"http\": {\"url\": \"https://example.com/dead\"}}' | sexton dead target --file -"}>{t('They are kept here in any case.')}</Empty>)}</Answer></Panel>
      <Panel title={t('Notices of content go to')}><Answer query={notices}>{(data) => (data.url ? <Facts items={[[t('Address'), data.url], [t('Events'), data.events?.join(', ')]]} /> : <Empty title={t('Nowhere')} command="sexton content set-notices --url https://example.com/notices" />)}</Answer></Panel>
    </Stack>
  )
}
