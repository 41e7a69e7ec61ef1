import { Tabs } from '@mantine/core'
import type { ReactNode } from 'react'
import { useSearchParams } from 'react-router'
import { EVERYWHERE, useSession } from '@/frame/session'
import { t } from '@/i18n'
import { Page, Panel, Stack } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { tabOf } from '@/parts/tab'
import { showChosen } from '@/parts/tabs'
import { Audit } from './audit'
import { Keys } from './keys'
import { Namespaces } from './namespaces'
import { ROLE_TEXTS } from './roles'
import { Secrets } from './secrets'
import { Sessions } from './sessions'
import { Webhooks } from './webhooks'
import classes from './Settings.module.css'

export default function Settings() {
  const session = useSession()
  const [search, setSearch] = useSearchParams()
  const tabs: [string, string, ReactNode][] = [
    ['access', t('You'), <Access key="a" />],
    ...(session.may('admin') ? ([['keys', t('API keys'), <Keys key="k" />]] as [string, string, ReactNode][]) : []),
    ...(session.may('editor') ? ([['secrets', t('Secrets'), <Secrets key="s" />]] as [string, string, ReactNode][]) : []),
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
  const rows = Object.entries(ROLE_TEXTS())
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
          const where = Object.entries(caller.roles).filter(([, own]) => own === role).map(([name]) => (name === EVERYWHERE ? t('all namespaces') : name))
          return <li key={role} data-own={where.length > 0 || undefined}><strong>{t(role)}</strong><span>{text}</span>{where.length > 0 ? <Status status="live" label={`${t('you')}: ${where.slice(0, 3).join(', ')}`} /> : <span />}</li>
        })}</ul>
      </Panel>
      <Sessions />
    </Stack>
  )
}
