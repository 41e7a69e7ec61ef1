import { Alert, Button, Group, Modal, PasswordInput, Progress, Select, Tabs, TextInput } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { useSearchParams } from 'react-router'
import { call } from '@/api/client'
import type { KeyView, NewKey, Quotas, Role } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, t } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { Code } from '@/parts/Copy'
import { Empty } from '@/parts/Empty'
import { tell } from '@/parts/notify'
import { Answer, Facts, Failure, Page, Panel, Stack } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import tables from '../queues/Queues.module.css'
import { Audit } from './audit'
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
  const tab = search.get('tab') ?? 'access'
  return (
    <Page title={t('Settings')}>
      <Tabs value={tab} onChange={(value) => setSearch({ tab: value ?? 'access' })} keepMounted={false}>
        <Tabs.List mb="sm">{tabs.map(([value, name]) => <Tabs.Tab key={value} value={value}>{name}</Tabs.Tab>)}</Tabs.List>
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
  const ask = useConfirm()
  const queries = useQueryClient()
  const sessions = useQuery({ queryKey: ['sessions'], queryFn: () => call('GET /sessions', {}) })
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
      <Panel title={t('Your sessions')} flush>
        <Answer query={sessions}>
          {(found) => found.length === 0 ? <Empty title={t('No browser session')}>{t('Browsers that signed in stand here. You did not need to.')}</Empty> : (
            <div className={tables.scroll}><table className={tables.table}><tbody>
              {found.map((each) => (
                <tr key={each.session_id}>
                  <td>{each.agent?.slice(0, 60)}{each.current && <Status status="live" label={t('this one')} />}</td><td>{each.address}</td><td>{t('used')} <Time at={each.used_at} /></td>
                  <td data-right><Button variant="subtle" color="gray" onClick={() => ask({ title: t('End a session'), object: each.agent ?? each.session_id, effect: t('That browser is signed out within two seconds.'), verb: t('End it'), reason: 'none', act: async () => { await call('DELETE /sessions/{session}', { path: { session: each.session_id } }); await queries.invalidateQueries({ queryKey: ['sessions'] }) } })}>{t('End')}</Button></td>
                </tr>
              ))}
            </tbody></table></div>
          )}
        </Answer>
      </Panel>
    </Stack>
  )
}

function Keys() {
  const ask = useConfirm()
  const queries = useQueryClient()
  const [making, setMaking] = useState(false)
  const [made, setMade] = useState<NewKey | null>(null)
  const keys = useQuery({ queryKey: ['keys'], queryFn: () => call('GET /keys', { query: { limit: 500 } }) })
  const refresh = () => queries.invalidateQueries({ queryKey: ['keys'] })
  const revoke = (key: KeyView) => ask({ title: t('Revoke a key'), object: `${key.name} (${key.beginning}…)`, effect: t('Programs that use it are refused within two seconds.'), verb: t('Revoke'), destructive: true, reason: 'required', act: async (reason) => { await call('DELETE /keys/{key}', { path: { key: key.key_id }, reason }); await refresh() } })
  const rotate = (key: KeyView) => ask({ title: t('Rotate a key'), object: key.name, effect: t('A new key is made; the old one goes on for a day.'), verb: t('Rotate'), act: async (reason) => { setMade(await call('POST /keys/{key}/rotate', { path: { key: key.key_id }, body: {}, reason })); await refresh() } })
  return (
    <Panel title={t('API keys')} right={<Button leftSection={<IconPlus size={14} />} onClick={() => setMaking(true)}>{t('New key')}</Button>} flush>
      <Answer query={keys}>
        {(rows) => rows.length === 0 ? <Empty title={t('No keys yet')} command="sexton keys create deploy --role editor">{t('Programs show a key; people sign in.')}</Empty> : (
          <div className={tables.scroll}><table className={tables.table}>
            <thead><tr><th scope="col">{t('Name')}</th><th scope="col">{t('Role')}</th><th scope="col">{t('Namespace')}</th><th scope="col">{t('Begins with')}</th><th scope="col">{t('Last used')}</th><th scope="col">{t('Ends')}</th><th scope="col">{t('State')}</th><th scope="col"><span className="hidden-label">{t('Actions')}</span></th></tr></thead>
            <tbody>{rows.map((key) => (
              <tr key={key.key_id}><td><strong>{key.name}</strong></td><td>{t(key.role)}</td><td>{key.namespace}</td><td><code>{key.beginning}…</code></td><td><Time at={key.last_used_at} /></td><td>{key.expires_at ? <Time at={key.expires_at} /> : t('never')}</td>
                <td><Status status={key.revoked_at ? 'deleted' : 'active'} label={key.revoked_at ? t('revoked') : t('active')} /></td>
                <td data-right>{!key.revoked_at && <><Button variant="subtle" color="gray" onClick={() => rotate(key)}>{t('Rotate')}</Button><Button variant="subtle" color="red" onClick={() => revoke(key)}>{t('Revoke')}</Button></>}</td></tr>
            ))}</tbody>
          </table></div>
        )}
      </Answer>
      {making && <MakeKey close={() => setMaking(false)} done={async (key) => { setMade(key); setMaking(false); await refresh() }} />}
      <Modal opened={made !== null} onClose={() => setMade(null)} title={<strong>{t('The new key')}</strong>}>
        <p>{t('Copy it now: it is shown once, and only its hash is kept.')}</p>
        {made && <Code>{made.key}</Code>}
      </Modal>
    </Panel>
  )
}

function MakeKey({ close, done }: { close: () => void; done: (key: NewKey) => unknown }) {
  const { namespace } = useSession()
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  const [error, setError] = useState<unknown>(null)
  const make = async () => {
    try {
      done(await call('POST /keys', { body: { name, role, namespace } }))
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Modal opened onClose={close} title={<strong>{t('New key')}</strong>}>
      <form onSubmit={(event) => { event.preventDefault(); void make() }}>
        <TextInput label={t('Name')} description={t('Which program uses it; it stands in the audit.')} required data-autofocus value={name} onChange={(event) => setName(event.currentTarget.value)} />
        <Select mt="sm" label={t('Role')} allowDeselect={false} value={role} onChange={(value) => setRole((value ?? 'viewer') as Role)} data={['viewer', 'worker', 'operator', 'editor', 'admin'].map((value) => ({ value, label: t(value) }))} />
        {error !== null && <Alert mt="md" color="red" p={0}><Failure error={error} /></Alert>}
        <Group justify="flex-end" mt="lg" gap="xs"><Button variant="default" onClick={close}>{t('Close')}</Button><Button type="submit">{t('Make the key')}</Button></Group>
      </form>
    </Modal>
  )
}

/** Values go in and never come out. */
function Secrets() {
  const ask = useConfirm()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [value, setValue] = useState('')
  const [error, setError] = useState<unknown>(null)
  const asked = useQuery({ queryKey: ['secrets'], queryFn: () => call('GET /secrets', {}) })
  const refresh = () => queries.invalidateQueries({ queryKey: ['secrets'] })
  const save = async () => {
    setError(null)
    try {
      await call('PUT /secrets/{secret}', { path: { secret: name }, body: { value } })
      tell(t('{name} is stored', { name }))
      setName('')
      setValue('')
      await refresh()
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Stack>
      <Panel title={t('Store a secret')}>
        <form onSubmit={(event) => { event.preventDefault(); void save() }}>
          <Group gap="xs" align="end">
            <TextInput label={t('Name')} required value={name} onChange={(event) => setName(event.currentTarget.value)} placeholder="smtp-password" />
            <PasswordInput size="xs" label={t('Value')} required value={value} onChange={(event) => setValue(event.currentTarget.value)} w={260} autoComplete="off" />
            <Button type="submit">{t('Store')}</Button>
          </Group>
          <p className="quiet" style={{ marginTop: 8 }}>{t('It is encrypted and never shown again. Targets name it:')} <code>{'{"secret": "smtp-password"}'}</code></p>
          {error !== null && <Alert mt="md" color="red" p={0}><Failure error={error} /></Alert>}
        </form>
      </Panel>
      <Panel title={t('Secrets')} flush>
        <Answer query={asked}>
          {(rows) => rows.length === 0 ? <Empty title={t('No secrets yet')} command="sexton secret set smtp-password" /> : (
            <table className={tables.table}><tbody>{rows.map((secret) => (
              <tr key={secret.name}><td><strong>{secret.name}</strong></td><td className="quiet">{t('changed')} <Time at={secret.updated_at} /></td>
                <td data-right><Button variant="subtle" color="red" onClick={() => ask({ title: t('Delete a secret'), object: secret.name, effect: t('Targets that name it fail from now on.'), verb: t('Delete'), destructive: true, reason: 'required', act: async (reason) => { await call('DELETE /secrets/{secret}', { path: { secret: secret.name }, reason }); await refresh() } })}>{t('Delete')}</Button></td></tr>
            ))}</tbody></table>
          )}
        </Answer>
      </Panel>
    </Stack>
  )
}

function Namespaces() {
  const session = useSession()
  const asked = useQuery({ queryKey: ['namespaces', 'used'], queryFn: async () => Promise.all((await call('GET /namespaces', {})).slice(0, 50).map((each) => call('GET /namespaces/{namespace}', { path: { namespace: each.name } }).catch(() => each))) })
  return (
    <Panel title={t('Namespaces')} flush>
      <Answer query={asked}>
        {(rows) => (
          <div className={tables.scroll}><table className={tables.table}>
            <thead><tr><th scope="col">{t('Name')}</th><th scope="col">{t('Jobs')}</th><th scope="col">{t('Live runs')}</th><th scope="col">{t('Other quotas')}</th><th scope="col">{t('Made')}</th></tr></thead>
            <tbody>{rows.map((each) => (
              <tr key={each.name}><td><strong>{each.name}</strong>{each.name === session.namespace && <> <Status status="live" label={t('this one')} /></>}<div className="quiet">{each.description}</div></td>
                <td><Use used={each.used?.jobs} most={each.quotas?.jobs} label={t('Jobs')} /></td><td><Use used={each.used?.live_runs} most={each.quotas?.live_runs} label={t('Live runs')} /></td>
                <td className="quiet">{otherQuotas(each.quotas) || t('none')}</td><td><Time at={each.created_at} /></td></tr>
            ))}</tbody>
          </table></div>
        )}
      </Answer>
    </Panel>
  )
}

/** How much of a quota is used; without one, how much there is. */
function Use({ used, most, label }: { used: number | undefined; most: number | null | undefined; label: string }) {
  if (used === undefined) return <span className="quiet">–</span>
  const share = most ? (used / most) * 100 : 0
  return (
    <div className={classes.use}>
      <span><b>{number(used)}</b><span className="quiet">{most ? t('of {count}', { count: number(most) }) : t('no limit')}</span></span>
      {most ? <Progress value={share} color={share > 90 ? 'var(--bad-mark)' : share > 75 ? 'var(--warn-mark)' : 'var(--accent)'} aria-label={`${label}: ${number(used)} / ${number(most)}`} /> : null}
    </div>
  )
}

const OTHERS: [keyof Quotas, string][] = [['firings_per_second', '{count} firings per second'], ['payload_bytes', 'payloads of {count} bytes'], ['history_days', '{count} days of history'], ['campaign_sends_per_day', '{count} messages of campaigns a day']]

function otherQuotas(quotas: Quotas | null | undefined): string {
  return OTHERS.filter(([name]) => quotas?.[name] != null).map(([name, text]) => t(text, { count: number(quotas?.[name] ?? 0) })).join(', ')
}

/** Where dead letters and notices of content go. */
function Webhooks() {
  const dead = useQuery({ queryKey: ['dead-target'], queryFn: () => call('GET /dead/target', {}) })
  const notices = useQuery({ queryKey: ['notices'], queryFn: () => call('GET /content/notices', {}) })
  return (
    <Stack>
      <Panel title={t('Dead letters also go to')}><Answer query={dead}>{(data) => (data.target ? <Code>{JSON.stringify(data.target, null, 2)}</Code> : <Empty title={t('Nowhere else')} command={'sexton dead target --http https://example.com/dead'}>{t('They are kept here in any case.')}</Empty>)}</Answer></Panel>
      <Panel title={t('Notices of content go to')}><Answer query={notices}>{(data) => (data.url ? <Facts items={[[t('Address'), data.url], [t('Events'), data.events?.join(', ')]]} /> : <Empty title={t('Nowhere')} />)}</Answer></Panel>
    </Stack>
  )
}
