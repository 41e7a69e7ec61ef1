import { Alert, Button } from '@mantine/core'
import { IconBellOff, IconBellRinging, IconEraser } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo, useState } from 'react'
import { Link, useNavigate, useParams } from 'react-router'
import { call, listed } from '@/api/client'
import type { InboxItem, RecipientView } from '@/api/schema'
import { useSession } from '@/frame/session'
import { t } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { DataTable, type Selection } from '@/parts/DataTable'
import { channelName } from '@/parts/channel'
import { Empty } from '@/parts/Empty'
import { askForMany, type ManyAction } from '@/parts/many'
import { tell, tellFailure } from '@/parts/notify'
import { Json } from '@/parts/Json'
import { Answer, Columns, Facts, Failure, Page, PageOf, Panel, Stack } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import { erasingRecipients, suppressingRecipients, unsuppressingRecipients, waitingText } from './many'
import { caps, optOuts, quietHours } from './wishes'
import classes from './Notifications.module.css'

const pathOf = (id: string) => `/notifications/recipients/${encodeURIComponent(id)}`

export function Recipients() {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  const many = (what: ManyAction) => (selection: Selection<RecipientView>) => void askForMany(ask, what, selection, (each) => each.user_id, () => queries.invalidateQueries({ queryKey: ['recipients'] }))
  const bulk = session.may('operator') ? [
    { label: t('Suppress'), icon: <IconBellOff size={14} />, act: many(suppressingRecipients()) },
    { label: t('Unsuppress'), icon: <IconBellRinging size={14} />, act: many(unsuppressingRecipients()) },
    { label: t('Erase'), icon: <IconEraser size={14} />, color: 'var(--bad)', act: many(erasingRecipients()) },
  ] : []
  const columns = useMemo((): ColumnDef<RecipientView>[] => [
    { id: 'id', header: () => t('Recipient'), cell: ({ row: { original: each } }) => <><Link to={pathOf(each.user_id)} className="link">{each.user_id}</Link>{each.suppressed_at && <> <Status status="suppressed" /></>}</>, meta: { sort: 'user_id' } },
    { id: 'email', header: () => t('E-mail'), cell: ({ row: { original: each } }) => each.email ?? '–' },
    { id: 'phone', header: () => t('Phone'), cell: ({ row: { original: each } }) => each.phone ?? '–', meta: { hide: 'md' } },
    { id: 'zone', header: () => t('Time zone'), cell: ({ row: { original: each } }) => each.timezone ?? '–', meta: { hide: 'sm' } },
    { id: 'changed', header: () => t('Changed'), cell: ({ row: { original: each } }) => <Time at={each.updated_at} />, meta: { hide: 'sm', width: 124 } },
  ], [])
  return <DataTable<RecipientView> name="recipients" label={t('Recipients')} columns={columns} filters={[{ name: 'search', label: t('Beginning of the id'), kind: 'text' }]} load={(filters, cursor, signal) => listed('GET /recipients', filters, cursor, signal)} keyOf={(each) => each.user_id} to={(each) => pathOf(each.user_id)} bulk={bulk} steady empty={<Empty title={t('No recipients yet')} command="sexton recipients set ann --email ann@example.org --timezone Europe/Berlin">{t('A recipient has addresses, a time zone and wishes. To make one:')}</Empty>} />
}

/** One recipient: addresses and wishes, what was sent, and the inbox as the application shows it. */
export function Recipient() {
  const { recipient: id = '' } = useParams()
  const session = useSession()
  const asked = useQuery({ queryKey: ['recipients', id], queryFn: () => call('GET /recipients/{user_id}', { path: { user_id: id } }) })
  const messages = useQuery({ queryKey: ['messages', 'of', id], queryFn: () => call('GET /notifications', { query: { user_id: id, limit: 50 } }) })
  return (
    <PageOf query={asked} list={{ to: '/notifications/recipients', name: t('Recipients') }}>
      {(each) => (
        <Page title={each.user_id} crumbs={[{ to: '/notifications/recipients', name: t('Recipients') }]} mark={each.suppressed_at && <Status status="suppressed" />} actions={session.may('operator') && <><Suppress recipient={each} /><Erase id={each.user_id} /></>}>
          <Columns side>
            <Stack>
              <Panel title={t('Messages')} right={<Link className="link" to={`/notifications/messages?user_id=${encodeURIComponent(id)}`}>{t('Show all')}</Link>} flush>
                <Answer query={messages}>
                  {(rows) => rows.length === 0 ? <Empty title={t('No messages yet')} /> : (
                    <ul className={classes.rows}>{rows.map((row) => (
                      <li key={row.notification_id}><Status status={row.status} /><Link className="link clip" to={`/notifications/messages/${row.notification_id}`}>{row.template_id}</Link><span className="quiet">{channelName(row.channel)}</span><Time at={row.send_at_utc} zone={row.timezone} show="both" /></li>
                    ))}</ul>
                  )}
                </Answer>
              </Panel>
              {session.may('operator') && <Inbox id={id} />}
            </Stack>
            <Panel title={t('Facts')}>
              {each.suppressed_at && <Alert color="yellow" mb="sm" title={t('Nothing is sent to this recipient')}>{each.suppressed_reason} · <Time at={each.suppressed_at} /></Alert>}
              <Facts items={[[t('E-mail'), each.email], [t('Phone'), each.phone], [t('Time zone'), each.timezone], [t('Language'), each.locale], [t('Devices'), each.devices.length || null], [t('Quiet hours'), inLines(quietHours(each.quiet_hours))], [t('Not wanted'), inLines(optOuts(each.opt_outs))], [t('At most'), inLines(caps(each.caps))], [t('Made'), <Time key="m" at={each.created_at} />], [t('Changed'), <Time key="u" at={each.updated_at} />]]} />
              {Object.keys(each.fields).length > 0 && <><p className={classes.label}>{t('Fields')}</p><Json value={each.fields} /></>}
            </Panel>
          </Columns>
        </Page>
      )}
    </PageOf>
  )
}

/** One a line; null: there is none. */
function inLines(lines: string[]) {
  return lines.length ? lines.map((line) => <div key={line}>{line}</div>) : null
}

/** Nothing more to one recipient, or messages again. */
function Suppress({ recipient }: { recipient: RecipientView }) {
  const ask = useConfirm()
  const queries = useQueryClient()
  const what = recipient.suppressed_at ? unsuppressingRecipients() : suppressingRecipients()
  const one: Selection<RecipientView> = { rows: [recipient], all: false, count: 1, filters: {} }
  const change = async () => {
    try {
      const waiting = await waitingText({ user_id: recipient.user_id })
      await askForMany(ask, { ...what, effect: <>{waiting}{what.effect}</> }, one, (each) => each.user_id, () => queries.invalidateQueries({ queryKey: ['recipients'] }))
    } catch (failure) {
      tellFailure(failure)
    }
  }
  return <Button variant="default" leftSection={recipient.suppressed_at ? <IconBellRinging size={14} /> : <IconBellOff size={14} />} onClick={() => void change()}>{what.verb}</Button>
}

/** For good: the id has to be typed, and a reason given. */
function Erase({ id }: { id: string }) {
  const ask = useConfirm()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const erase = async (reason: string | undefined) => {
    const { rows } = await call('DELETE /recipients/{user_id}', { path: { user_id: id }, reason })
    tell(t('{name} is erased: {count} rows', { name: id, count: Object.values(rows).reduce((sum: number, count) => sum + Number(count), 0) }))
    await navigate('/notifications/recipients')
    await queries.invalidateQueries({ queryKey: ['recipients'] })
  }
  const question = async () => {
    try {
      const waiting = await waitingText({ user_id: id })
      ask({ title: t('Erase a recipient'), object: id, effect: <>{waiting}{erasingRecipients().effect}</>, verb: t('Erase'), destructive: true, typed: id, act: erase })
    } catch (failure) {
      tellFailure(failure)
    }
  }
  return <Button variant="default" c="var(--bad)" leftSection={<IconEraser size={14} />} onClick={() => void question()}>{t('Erase')}</Button>
}

/** As the application of the recipient shows it. It is opened with a token for a minute, which the audit notes. */
function Inbox({ id }: { id: string }) {
  const [items, setItems] = useState<InboxItem[] | null>(null)
  const [error, setError] = useState<unknown>(null)
  const open = async () => {
    setError(null)
    try {
      const { token } = await call('POST /recipients/{user_id}/inbox-token', { path: { user_id: id }, body: { seconds: 60 } })
      setItems(await call('GET /inbox/{token}', { path: { token }, query: { limit: 20 } }))
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Panel title={t('Inbox')} right={<Button variant="subtle" color="gray" onClick={() => void open()}>{items ? t('Show it again') : t('Show it')}</Button>}>
      {error !== null ? <Failure error={error} /> : items === null ? <p className="quiet">{t('What the application of the recipient shows. Opening it is noted in the audit.')}</p> : items.length === 0 ? <p className="quiet">{t('The inbox is empty.')}</p> : (
        <div className={classes.inbox}>{items.map((item) => (
          <div key={item.item_id} className={classes.bubble} data-unread={!item.read_at || undefined}>
            <strong>{String(item.parts['title'] ?? '')}</strong>
            <p>{String(item.parts['body'] ?? item.parts['text'] ?? '')}</p>
            <span className="quiet"><Time at={item.created_at} /> · {item.read_at ? t('read') : t('not read')}</span>
          </div>
        ))}</div>
      )}
    </Panel>
  )
}
