import { Tabs } from '@mantine/core'
import type { ReactNode } from 'react'
import { useSearchParams } from 'react-router'
import type { Role } from '@/api/schema'
import { EVERYWHERE, useSession } from '@/frame/session'
import { t } from '@/i18n'
import { NotAllowed } from '@/parts/Empty'
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
  // The role that each needs; an address of another one, which a colleague has sent, says so.
  const all: [string, string, ReactNode, Role][] = [
    ['access', t('You'), <Access key="a" />, 'viewer'],
    ['keys', t('API keys'), <Keys key="k" />, 'admin'],
    ['secrets', t('Secrets'), <Secrets key="s" />, 'editor'],
    ['namespaces', t('Namespaces'), <Namespaces key="n" />, 'viewer'],
    ['webhooks', t('Webhooks'), <Webhooks key="w" />, 'viewer'],
    ['audit', t('Audit'), <Audit key="u" />, 'editor'],
  ]
  const asked = all.find(([value]) => value === search.get('tab'))
  const tabs = all.filter((each) => each === asked || session.may(each[3]))
  const tab = tabOf(tabs.map(([value]) => value), search.get('tab'))
  return (
    <Page title={t('Settings')}>
      <Tabs value={tab} onChange={(value) => setSearch({ tab: value ?? 'access' })} keepMounted={false}>
        <Tabs.List mb="sm" ref={showChosen}>{tabs.map(([value, name]) => <Tabs.Tab key={value} value={value}>{name}</Tabs.Tab>)}</Tabs.List>
        {tabs.map(([value, , inside, role]) => <Tabs.Panel key={value} value={value}>{session.may(role) ? inside : <NotAllowed>{t('It needs the role {role}; yours does not allow it.', { role: t(role) })}</NotAllowed>}</Tabs.Panel>)}
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
