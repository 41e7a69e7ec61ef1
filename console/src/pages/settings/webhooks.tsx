/** Who else is told of dead letters and of what became of content: set, tried, turned off, and what was delivered. */
import { Button, Checkbox, Group, SegmentedControl, Select, Textarea, TextInput } from '@mantine/core'
import { IconPencil, IconPlus } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { Link } from 'react-router'
import { call, page } from '@/api/client'
import { writeExact } from '@/api/exact'
import type { DeadLetter, NoticeEvent, NoticeView, RunView, TrialRequest } from '@/api/schema'
import { useSession } from '@/frame/session'
import { t } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { Empty } from '@/parts/Empty'
import { parsedAt } from '@/parts/field'
import { FormDialog } from '@/parts/FormDialog'
import { Json } from '@/parts/Json'
import { tell, tellUndo } from '@/parts/notify'
import { Answer, Facts, Panel, Stack } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { TestTarget } from '@/parts/TestTarget'
import { Time } from '@/parts/Time'
import tables from '../queues/Queues.module.css'
import { addressOf, EVENT_NAMES, EVENTS, sampleLetter, sampleNotice, targetOf, type Address } from './webhook'
import classes from './Settings.module.css'

const LATEST = 10
/** No change is recorded when a dead letter has arrived. */
const LOOK_MS = 5000

export function Webhooks() {
  return <Stack><DeadLetters /><Notices /></Stack>
}

/** The frame of both: whether it is on, what it is, what can be done to it, and what it delivered. */
function Webhook({ title, about, on, off, facts, change, remove, test, deliveries }: { title: string; about: string; on: boolean; off: ReactNode; facts: ReactNode; change: (() => void) | null; remove(): void; test: (() => TrialRequest) | null; deliveries: ReactNode }) {
  return (
    <Panel title={title} right={<Status status={on ? 'active' : 'pending'} label={on ? t('on') : t('off')} />} flush>
      {on ? (
        <>
          <div className={classes.webhook}>
            <p className="quiet">{about}</p>
            {facts}
            {(change || test) && (
              <div className={classes.webhookActions}>
                {test && <TestTarget ask={test} />}
                {change && <Group gap="xs"><Button variant="default" leftSection={<IconPencil size={14} />} onClick={change}>{t('Change')}</Button><Button variant="default" c="var(--bad)" onClick={remove}>{t('Turn off')}</Button></Group>}
              </div>
            )}
          </div>
          {deliveries}
        </>
      ) : off}
    </Panel>
  )
}

function DeadLetters() {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  const [changing, setChanging] = useState(false)
  const may = session.may('editor')
  const asked = useQuery({ queryKey: ['webhooks', 'dead'], queryFn: () => call('GET /dead/target', {}) })
  const target = asked.data?.target ?? null
  const letters = useQuery({ queryKey: ['dead', 'delivered'], queryFn: () => page('GET /dead', { query: { limit: LATEST } }), enabled: target !== null, refetchInterval: LOOK_MS })
  const refresh = () => queries.invalidateQueries({ queryKey: ['webhooks', 'dead'] })
  const set = async (wanted: Record<string, unknown> | null, reason?: string) => {
    await call('PUT /dead/target', { body: { target: wanted }, reason })
    await refresh()
  }
  const address = addressOf(target)
  return (
    <Answer query={asked}>
      {() => (
        <>
          <Webhook
            title={t('Dead letters also go to')}
            about={t('Each run of this namespace that is given up is sent there, too, unless its job names another target; until it arrives, at growing intervals.')}
            on={target !== null}
            off={<Empty title={t('Nowhere else')} action={may && <Button variant="default" leftSection={<IconPlus size={14} />} onClick={() => setChanging(true)}>{t('Set an address')}</Button>} command={"echo '{\"http\": {\"url\": \"https://example.com/dead\"}}' | sexton dead target --file -"}>{t('They are kept here in any case.')}</Empty>}
            facts={address ? <Facts items={[[t('Address'), <span key="a" className={classes.address}>{address.url}</span>], [t('Signed with'), signer(address.secret)]]} /> : <Json value={target} />}
            change={may ? () => setChanging(true) : null}
            remove={() => ask({
              title: t('Turn a webhook off'), object: address?.url ?? t('Dead letters also go to'), effect: t('Dead letters are kept here and sent nowhere else, those that have not arrived yet among them.'), verb: t('Turn off'), destructive: true, undoable: true,
              act: async (reason) => { await set(null, reason); tellUndo(t('Dead letters go nowhere else'), () => set(target)) },
            })}
            test={may && target ? () => ({ target, payload: sampleLetter(new Date()) }) : null}
            deliveries={<Answer query={letters}>{({ items }) => <Letters rows={items} />}</Answer>}
          />
          {changing && <ChangeDead target={target} close={() => setChanging(false)} save={async (wanted) => { await set(wanted); tell(t('Dead letters go there from now on')) }} />}
        </>
      )}
    </Answer>
  )
}

function Notices() {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  const [changing, setChanging] = useState(false)
  const may = session.may('admin')
  const asked = useQuery({ queryKey: ['webhooks', 'notices'], queryFn: () => call('GET /content/notices', {}) })
  const jobId = asked.data?.url ? asked.data.job_id : null
  const runs = useQuery({ queryKey: ['runs', 'notices', jobId], queryFn: () => page('GET /runs', { query: { job: jobId, limit: LATEST } }), enabled: jobId !== null })
  const refresh = () => queries.invalidateQueries({ queryKey: ['webhooks', 'notices'] })
  const set = async ({ url, secret, events }: Pick<NoticeView, 'url' | 'secret' | 'events'>) => {
    await call('PUT /content/notices', { body: { url: url ?? '', secret, events } })
    await refresh()
  }
  return (
    <Answer query={asked}>
      {(data) => (
        <>
          <Webhook
            title={t('Notices of content go to')}
            about={t('Authors learn what became of their plans. Each notice is a run, tried again up to ten times.')}
            on={data.url !== null}
            off={<Empty title={t('Nowhere')} action={may && <Button variant="default" leftSection={<IconPlus size={14} />} onClick={() => setChanging(true)}>{t('Set an address')}</Button>} command="sexton content set-notices --url https://example.com/notices">{t('Authors can be told what became of their plans.')}</Empty>}
            facts={<Facts items={[[t('Address'), <span key="a" className={classes.address}>{data.url}</span>], [t('Signed with'), signer(data.secret)], [t('Told of what'), data.events.map((each) => t(EVENT_NAMES[each])).join(', ')]]} />}
            change={may ? () => setChanging(true) : null}
            remove={() => ask({
              title: t('Turn a webhook off'), object: data.url ?? '', effect: t('Authors are told nothing more. Notices that were made are still sent.'), verb: t('Turn off'), destructive: true, undoable: true,
              act: async (reason) => { await call('DELETE /content/notices', { reason }); tellUndo(t('No notices are sent'), () => set(data)); await refresh() },
            })}
            test={session.may('editor') && data.url ? () => ({ target: targetOf({ url: data.url ?? '', secret: data.secret }), payload: sampleNotice(new Date()) }) : null}
            deliveries={<Answer query={runs}>{({ items }) => <Sent rows={items} />}</Answer>}
          />
          {changing && <ChangeNotices notices={data} close={() => setChanging(false)} save={async (wanted) => { await set(wanted); tell(t('Notices go there from now on')) }} />}
        </>
      )}
    </Answer>
  )
}

function signer(secret: string | null): ReactNode {
  return secret ? <code>{secret}</code> : t('the secret of the installation')
}

/** The latest dead letters, and whether each has arrived. */
function Letters({ rows }: { rows: DeadLetter[] }) {
  if (rows.length === 0) return <p className={tables.none}>{t('No run was given up.')}</p>
  return (
    <Deliveries all="/dead?tab=letters" head={[t('State'), t('Run'), t('Given up'), t('Delivered')]}>
      {rows.map((each) => (
        <tr key={each.run_id}>
          <td><Status status={each.delivered_at ? 'delivered' : each.delivery_error ? 'failure' : 'pending'} label={each.delivered_at ? t('delivered') : each.delivery_error ? t('not delivered') : t('not sent')} />{each.delivery_error && <div className="bad">{each.delivery_error}</div>}</td>
          <td><Link className="link" to={`/dead/${each.run_id}`}>{each.job_name ?? each.run_id}</Link></td>
          <td><Time at={each.died_at} show="both" /></td>
          <td><Time at={each.delivered_at} show="both" /></td>
        </tr>
      ))}
    </Deliveries>
  )
}

/** The latest notices: each is a run. */
function Sent({ rows }: { rows: RunView[] }) {
  const [first] = rows
  if (!first) return <p className={tables.none}>{t('No notice was sent yet.')}</p>
  return (
    <Deliveries all={`/runs?job=${first.job_id}`} head={[t('State'), t('Run'), t('Told'), t('Tries')]}>
      {rows.map((each) => (
        <tr key={each.run_id}>
          <td><Status status={each.status} />{each.error && <div className="quiet">{each.error}</div>}</td>
          <td><Link className="mono" to={`/runs/${each.run_id}`}>{each.run_id}</Link></td>
          <td><Time at={each.scheduled_at} show="both" /></td>
          <td className="num">{each.attempt}</td>
        </tr>
      ))}
    </Deliveries>
  )
}

function Deliveries({ all, head, children }: { all: string; head: string[]; children: ReactNode }) {
  return (
    <>
      <div className={classes.deliveries}><h3>{t('Latest deliveries')}</h3><Link className="link" to={all}>{t('Show all')}</Link></div>
      <div className={tables.scroll} tabIndex={0} role="group" aria-label={t('Latest deliveries')}>
        <table className={tables.table}><thead><tr>{head.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead><tbody>{children}</tbody></table>
      </div>
    </>
  )
}

function AddressFields({ address, set }: { address: Address; set(address: Address): void }) {
  const secrets = useQuery({ queryKey: ['secrets'], queryFn: () => call('GET /secrets', {}) })
  return (
    <>
      <TextInput type="url" label={t('Address')} required data-autofocus maxLength={2000} placeholder="https://example.com/hook" value={address.url} onChange={(event) => set({ ...address, url: event.currentTarget.value })} />
      <Select mt="sm" searchable clearable label={t('Signed with')} description={t('A secret that begins with whsec_; its receiver checks by it that Sexton has sent this.')} placeholder={t('the secret of the installation')} nothingFoundMessage={t('There is no such secret')} data={(secrets.data ?? []).map((each) => each.name)} value={address.secret} onChange={(secret) => set({ ...address, secret })} />
    </>
  )
}

function ChangeDead({ target, close, save }: { target: Record<string, unknown> | null; close(): void; save(target: Record<string, unknown>): Promise<void> }) {
  const known = addressOf(target)
  const [way, setWay] = useState(target === null || known ? 'address' : 'json')
  const [address, setAddress] = useState<Address>(known ?? { url: '', secret: null })
  const [json, setJson] = useState(writeExact(target ?? { http: { url: 'https://example.com/dead', headers: {} } }))
  return (
    <FormDialog title={t('Where dead letters also go')} verb={t('Save')} close={close} save={async () => save(way === 'json' ? (parsedAt('target', json) as Record<string, unknown>) : targetOf(address))}>
      <SegmentedControl mb="sm" aria-label={t('Written as')} value={way} onChange={setWay} data={[{ value: 'address', label: t('An address') }, { value: 'json', label: t('A target, as JSON') }]} />
      {way === 'json'
        ? <Textarea label={t('Target')} description={t('http with all options, or message: what a job can have as its target.')} autosize minRows={6} maxRows={16} spellCheck={false} classNames={{ input: classes.code ?? '' }} value={json} onChange={(event) => setJson(event.currentTarget.value)} />
        : <AddressFields address={address} set={setAddress} />}
    </FormDialog>
  )
}

function ChangeNotices({ notices, close, save }: { notices: NoticeView; close(): void; save(notices: Pick<NoticeView, 'url' | 'secret' | 'events'>): Promise<void> }) {
  const [address, setAddress] = useState<Address>({ url: notices.url ?? '', secret: notices.secret })
  const [events, setEvents] = useState<string[]>(notices.url ? notices.events : EVENTS)
  return (
    <FormDialog title={t('Where notices of content go')} verb={t('Save')} close={close} save={() => save({ ...address, events: EVENTS.filter((each: NoticeEvent) => events.includes(each)) })}>
      <AddressFields address={address} set={setAddress} />
      <Checkbox.Group mt="md" label={t('Told of what')} description={t('None chosen: of all.')} value={events} onChange={setEvents}>
        <div className={classes.checks}>{EVENTS.map((each) => <Checkbox key={each} value={each} label={t(EVENT_NAMES[each])} />)}</div>
      </Checkbox.Group>
    </FormDialog>
  )
}
