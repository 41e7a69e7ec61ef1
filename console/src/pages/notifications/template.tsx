/** A template: its texts by channel and language, shown as a recipient gets them while they are written, and a test. */
import { Alert, Button, Group, Select, Tabs, Textarea, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconCheck, IconDeviceFloppy, IconPlus, IconSend } from '@tabler/icons-react'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Link, useNavigate, useParams, useSearchParams } from 'react-router'
import { ApiError, call, page } from '@/api/client'
import type { NotificationView, RenderedView, TemplateView } from '@/api/schema'
import { useSession } from '@/frame/session'
import { number, t } from '@/i18n'
import { channelName } from '@/parts/channel'
import { useConfirm } from '@/parts/Confirm'
import { Dialog } from '@/parts/Dialog'
import { NotAllowed } from '@/parts/Empty'
import { takeBack } from '@/parts/many'
import { tell, tellFailure, tellUndo } from '@/parts/notify'
import { Answer, Columns, Failure, Page, PageOf, Panel, Stack } from '@/parts/Page'
import { useSending } from '@/parts/sending'
import { Status } from '@/parts/Status'
import { attempted } from '@/parts/field'
import { Time } from '@/parts/Time'
import { deletingTemplates, waitingText } from './many'
import { rowsOf, specsOf } from './variables'
import { VariableFields } from './VariableFields'
import classes from './Notifications.module.css'

/** The texts of each channel: their names, and whether they have several lines. */
const PARTS: Record<string, [string, string, boolean][]> = {
  email: [['subject', 'Subject', false], ['text', 'Plain text', true], ['html', 'HTML', true]],
  sms: [['text', 'Text', true]],
  push: [['title', 'Heading', false], ['body', 'Text', true], ['link', 'Link', false]],
  in_app: [['title', 'Heading', false], ['body', 'Text', true], ['link', 'Link', false]],
}
const CHANNELS = Object.keys(PARTS)
type Texts = Record<string, Record<string, string>>

export function Template() {
  const { template: id = '' } = useParams()
  const [search] = useSearchParams()
  const version = Number(search.get('version')) || null
  const asked = useQuery({ queryKey: ['templates', id, version], queryFn: () => call('GET /templates/{template_id}', { path: { template_id: id }, query: { version } }) })
  return <PageOf query={asked} list={{ to: '/notifications/templates', name: t('Templates') }}>{(template) => <Opened key={`${id} ${version}`} latest={template} />}</PageOf>
}

/** What another saves meanwhile is shown at once, unless something is typed: that stays. */
function Opened({ latest }: { latest: TemplateView }) {
  const [shown, setShown] = useState(latest)
  const [typed, setTyped] = useState(false)
  if (latest !== shown && (!typed || latest.version === shown.version)) setShown(latest)
  return <Editor key={shown.version} template={shown} newer={latest.version === shown.version ? null : latest} setTyped={setTyped} />
}

/** All versions, the latest first; an older one is shown, and becomes the latest when it is saved again. */
function Versions({ template }: { template: TemplateView }) {
  const asked = useQuery({ queryKey: ['templates', template.template_id, 'versions', template.latest_version], queryFn: () => page('GET /templates/{template_id}/versions', { path: { template_id: template.template_id }, query: { limit: 50 } }) })
  return (
    <Panel title={t('Versions')} right={asked.data?.cursor && t('the latest {count}', { count: number(asked.data.items.length) })} flush>
      <Answer query={asked}>
        {({ items }) => (
          <ul className={classes.rows}>{items.map((row) => (
            <li key={row.version} data-current={row.version === template.version || undefined}>
              <Link className="link" to={`/notifications/templates/${encodeURIComponent(template.template_id)}${row.version === template.latest_version ? '' : `?version=${row.version}`}`} aria-current={row.version === template.version || undefined}>{t('version {number}', { number: row.version })}</Link>
              {row.version === template.latest_version && <Status status="live" label={t('the latest')} />}
              <span className="quiet">{row.locales.map((each) => (each === 'default' ? t('all others') : each)).join(', ')}</span>
              <span className="quiet">{row.created_by} · <Time at={row.created_at} /></span>
            </li>
          ))}</ul>
        )}
      </Answer>
    </Panel>
  )
}

export function NewTemplate() {
  const session = useSession()
  if (session.may('editor')) return <Editor template={null} newer={null} setTyped={() => undefined} />
  return <Page title={t('New template')} crumbs={[{ to: '/notifications/templates', name: t('Templates') }]}><NotAllowed>{t('Templates are written by editors of the namespace.')}</NotAllowed></Page>
}

/** What is written, without what is empty; null if nothing is. */
export function writtenTexts(texts: Texts): Texts | null {
  const found: Texts = {}
  for (const [channel, parts] of Object.entries(texts)) {
    const some = Object.fromEntries(Object.entries(parts).filter(([, text]) => text.trim()))
    if (Object.keys(some).length) found[channel] = some
  }
  return Object.keys(found).length ? found : null
}

/** `newer`: what another has saved while this is changed. `setTyped`: whether something is, that is not saved. */
function Editor({ template, newer, setTyped }: { template: TemplateView | null; newer: TemplateView | null; setTyped: (typed: boolean) => void }) {
  const ask = useConfirm()
  const session = useSession()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [id, setId] = useState(template?.template_id ?? '')
  const [locale, setLocale] = useState('default')
  const [texts, setTexts] = useState<Texts>(() => own(template, 'default'))
  const [rows, setRows] = useState(() => rowsOf(template?.variables ?? {}))
  const [channel, setChannel] = useState<string>(() => CHANNELS.find((each) => each in own(template, 'default')) ?? 'email')
  const { busy, error, clear, send } = useSending()
  const [trying, setTrying] = useState(false)
  const may = session.may('editor')
  const written = writtenTexts(texts)
  // Those that were not touched are left to the server, which finds what the texts use.
  const declared = JSON.stringify(rows) !== JSON.stringify(rowsOf(template?.variables ?? {}))
  const changed = declared || JSON.stringify(written) !== JSON.stringify(writtenTexts(own(template, locale)))
  const older = template !== null && template.version !== template.latest_version
  const [variables, unreadable] = attempted(() => (declared ? { variables: specsOf(rows) } : {}))
  const body = written && { ...written, ...variables, ...(locale === 'default' ? {} : { locale }) }
  useEffect(() => setTyped(changed), [changed, setTyped])
  const set = (name: string, text: string) => {
    clear()
    setTexts({ ...texts, [channel]: { ...texts[channel], [name]: text } })
  }
  const declare = (name: string) => {
    clear()
    setRows([...rows, { name, type: 'string', default: '', sample: '', rest: {} }])
  }
  const choose = (next: string | null) => {
    if (!next) return
    setLocale(next)
    setTexts(own(template, next))
  }
  const save = () => send(async () => {
    const saved = await call('PUT /templates/{template_id}', { path: { template_id: id }, body: body as never })
    tell(t('Version {number} is saved', { number: saved.version }))
    setTyped(false)
    await queries.invalidateQueries({ queryKey: ['templates'] })
    if (!template || older) await navigate(`/notifications/templates/${encodeURIComponent(id)}`)
  })
  const remove = async () => {
    try {
      const waiting = await waitingText({ template_id: id })
      ask({
        title: t('Delete a template'), object: id, effect: <>{waiting}{deletingTemplates().effect}</>, verb: t('Delete'), destructive: true, undoable: true, reason: 'required',
        act: async (reason) => {
          await call('DELETE /templates/{template_id}', { path: { template_id: id }, reason })
          const refresh = () => queries.invalidateQueries({ queryKey: ['templates'] })
          tellUndo(t('{name} is deleted', { name: id }), () => takeBack('templates', 'restore', [id], refresh))
          await navigate('/notifications/templates')
          await refresh()
        },
      })
    } catch (failure) {
      tellFailure(failure)
    }
  }
  const languages = [...new Set(['default', ...Object.keys(template?.locales ?? {}), 'de', 'en', 'es', 'fr', 'it', 'ja', 'nl', 'pl', 'pt-BR'])]
  return (
    <Page
      title={template?.template_id ?? t('New template')}
      mark={template && <span className="quiet">{t('version {number}', { number: template.version })}</span>}
      crumbs={[{ to: '/notifications/templates', name: t('Templates') }]}
      about={template && <>{t('Changed')} <Time at={template.created_at} /> · {template.created_by}{!may && <> · {t('Editors of the namespace can change it.')}</>}</>}
      actions={may && (
        <>
          {template && <Button variant="default" leftSection={<IconSend size={14} />} onClick={() => setTrying(true)} disabled={changed}>{t('Send me a test')}</Button>}
          {template && <Button variant="default" c="var(--bad)" onClick={() => void remove()}>{t('Delete')}</Button>}
          <Button leftSection={<IconDeviceFloppy size={14} />} loading={busy} onClick={() => void save()} disabled={!written || !id || unreadable !== null || (template !== null && !changed && !older)}>{t('Save as a new version')}</Button>
        </>
      )}
    >
      {error !== null && <Alert color="red" p={0}><Refused error={error} declare={declare} /></Alert>}
      {newer && <Alert color="yellow" title={t('{name} has saved version {number} meanwhile', { name: newer.created_by, number: newer.version })}>{t('Saving yours makes it the latest; both are kept as versions.')} <Button variant="subtle" size="compact-sm" onClick={() => setTyped(false)}>{t('Drop mine, load what it is now')}</Button></Alert>}
      {older && <Alert color="yellow" title={t('This is version {number}; the latest is {latest}', { number: template.version, latest: template.latest_version })}>{t('Saving it makes its texts the latest again, language by language.')} <Link className="link" to={`/notifications/templates/${encodeURIComponent(template.template_id)}`}>{t('Show the latest')}</Link></Alert>}
      <Columns>
        <Panel title={t('Texts')} right={<Select aria-label={t('Language')} w={150} allowDeselect={false} value={locale} onChange={choose} data={languages.map((value) => ({ value, label: value === 'default' ? t('all others') : value }))} disabled={changed} />}>
          <Stack>
            {!template && <TextInput label={t('Template')} description={t('Its id, as programs name it.')} required data-autofocus value={id} onChange={(event) => setId(event.currentTarget.value)} maxLength={200} />}
            <Tabs value={channel} onChange={(value) => setChannel(value ?? 'email')}>
              <Tabs.List mb="sm">{CHANNELS.map((each) => <Tabs.Tab key={each} value={each} rightSection={written?.[each] ? <IconCheck size={12} aria-hidden /> : null}>{channelName(each)}{written?.[each] && <span className="hidden-label">, {t('written')}</span>}</Tabs.Tab>)}</Tabs.List>
            </Tabs>
            {(PARTS[channel] ?? []).map(([name, label, long]) => long
              ? <Textarea key={`${channel}-${name}`} label={t(label)} autosize minRows={name === 'html' ? 6 : 3} maxRows={20} spellCheck={name !== 'html'} classNames={{ input: classes.source ?? '' }} readOnly={!may} value={texts[channel]?.[name] ?? ''} onChange={(event) => set(name, event.currentTarget.value)} />
              : <TextInput key={`${channel}-${name}`} label={t(label)} readOnly={!may} value={texts[channel]?.[name] ?? ''} onChange={(event) => set(name, event.currentTarget.value)} />)}
            <VariableFields rows={rows} set={(changed) => { clear(); setRows(changed) }} may={may} />
            {unreadable && <p className="bad" role="alert">{unreadable.field}: {unreadable.message}</p>}
          </Stack>
        </Panel>
        <Preview id={id || 'new'} body={body} channel={channel} locale={locale} may={may} saved={template !== null && !changed} declare={declare} />
      </Columns>
      {template && <Versions template={template} />}
      {trying && template && <Trial template={template} channel={channel} close={() => setTrying(false)} />}
    </Page>
  )
}

function own(template: TemplateView | null, locale: string): Texts {
  const stored = (template?.locales[locale] ?? {}) as Texts
  return Object.fromEntries(Object.entries(stored).map(([channel, parts]) => [channel, { ...parts, ...('mjml' in parts ? { html: '' } : {}) }]))
}

/** As a recipient gets it; what is not saved is rendered by the server, too, and kept nowhere. */
function Preview({ id, body, channel, locale, may, saved, declare }: { id: string; body: Texts | null | object; channel: string; locale: string; may: boolean; saved: boolean; declare(name: string): void }) {
  const [wanted] = useDebouncedValue(JSON.stringify(body), 400)
  const [user, setUser] = useState('')
  const [who] = useDebouncedValue(user.trim(), 400)
  const texts = saved || !may ? null : (JSON.parse(wanted) as object | null)
  const has = body !== null && channel in body
  const asked = useQuery({
    queryKey: ['template-preview', id, saved ? 'saved' : wanted, channel, locale, who],
    queryFn: () => call('POST /templates/{template_id}/preview', { path: { template_id: id }, body: { channel, ...(locale === 'default' ? {} : { locale }), ...(who ? { user_id: who } : {}), ...(texts ? { texts } : {}) } as never }),
    enabled: has,
    placeholderData: keepPreviousData,
    retry: false,
  })
  const shown = has ? asked.data?.find((each) => each.channel === channel) : undefined
  return (
    <Panel title={t('As a recipient gets it')} right={<TextInput aria-label={t('As this recipient sees it')} placeholder={t('Recipient')} w={150} value={user} onChange={(event) => setUser(event.currentTarget.value)} />}>
      {!has ? <p className="quiet">{t('There are no texts for this channel.')}</p> : asked.error ? <Refused error={asked.error} declare={declare} /> : shown ? <Rendered shown={shown} /> : <p className="quiet">{t('Loading')}…</p>}
    </Panel>
  )
}

/** A variable that a text uses and that is not among those of the template is added with one click. */
function Refused({ error, declare }: { error: unknown; declare(name: string): void }) {
  const name = error instanceof ApiError && error.code === 'undeclared_variable' ? error.field?.replace(/^variables\./, '') : undefined
  if (!name) return <Failure error={error} />
  return <><Failure error={error} title={t('A variable is missing')} /><Button variant="default" ml={42} mb="sm" leftSection={<IconPlus size={13} />} onClick={() => declare(name)}>{t('Add the variable {name}', { name })}</Button></>
}

export function Rendered({ shown }: { shown: RenderedView }) {
  const { parts } = shown
  if (shown.channel === 'email') {
    return (
      <div className={classes.mail} aria-live="polite">
        <p className={classes.subject}>{parts['subject']}</p>
        {parts['html'] && <iframe title={t('The HTML of the e-mail')} sandbox="" srcDoc={parts['html']} className={classes.frame} />}
        {parts['text'] && <pre className={classes.text}>{parts['text']}</pre>}
      </div>
    )
  }
  return (
    <div aria-live="polite">
      <div className={classes.bubble}>
        {parts['title'] && <strong>{parts['title']}</strong>}
        <p>{parts['body'] ?? parts['text']}</p>
        {parts['link'] && <span className="quiet">{parts['link']}</span>}
      </div>
      {shown.sms_segments != null && <p className="quiet">{t('{length} characters, {segments} segments ({encoding})', { length: shown.sms_length ?? 0, segments: shown.sms_segments, encoding: shown.sms_encoding ?? '' })}</p>}
    </div>
  )
}

/** A test to an address, with the samples of the variables, at once. */
function Trial({ template, channel, close }: { template: TemplateView; channel: string; close: () => void }) {
  const session = useSession()
  const mine = session.caller.name.includes('@') ? session.caller.name : ''
  const [address, setAddress] = useState(channel === 'email' ? mine : '')
  const [user, setUser] = useState('')
  const [sent, setSent] = useState<NotificationView | null>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const direct = channel === 'email' || channel === 'sms'
  const send = async () => {
    setBusy(true)
    setError(null)
    try {
      setSent(await call('POST /templates/{template_id}/test', { path: { template_id: template.template_id }, body: { channel, ...(address ? { address } : {}), ...(user ? { user_id: user } : {}) } as never }))
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog opened onClose={close} title={<strong>{t('Send me a test')}</strong>}>
      <form onSubmit={(event) => { event.preventDefault(); void send() }}>
        <p className="quiet">{t('Sent at once on the channel {channel}, with the samples of the variables; nothing holds it.', { channel: channelName(channel) })}</p>
        {direct && <TextInput mt="sm" data-autofocus label={channel === 'email' ? t('E-mail') : t('Phone')} value={address} onChange={(event) => setAddress(event.currentTarget.value)} />}
        <TextInput mt="sm" label={t('Recipient')} description={direct ? t('Instead of an address, or for its values.') : undefined} value={user} onChange={(event) => setUser(event.currentTarget.value)} />
        {error !== null && <Alert mt="md" color="red" p={0}><Failure error={error} /></Alert>}
        {sent && <p>{t('It is on its way:')} <Link className="link" to={`/notifications/messages/${sent.notification_id}`}>{sent.notification_id}</Link></p>}
        <Group justify="flex-end" mt="lg" gap="xs">
          <Button variant="default" type="button" onClick={close}>{t('Close')}</Button>
          <Button type="submit" loading={busy} disabled={!address && !user}>{t('Send')}</Button>
        </Group>
      </form>
    </Dialog>
  )
}
