/** One form for a new campaign: what goes to whom and when, beside how many that are. */
import { Alert, Button, Collapse, Group, MultiSelect, NumberInput, Radio, Select, Textarea, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconChevronDown, IconChevronRight, IconPlus } from '@tabler/icons-react'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { Link, useNavigate, useSearchParams } from 'react-router'
import { ApiError, call, newKey } from '@/api/client'
import type { CampaignSpec, OnDoubt, TemplateView, WhenPast } from '@/api/schema'
import { useSession, useZone } from '@/frame/session'
import { t } from '@/i18n'
import { channelName } from '@/parts/channel'
import { NotAllowed } from '@/parts/Empty'
import { attempted, errorAt, FieldError } from '@/parts/field'
import { tell } from '@/parts/notify'
import { Columns, Failure, Page, Panel, Stack } from '@/parts/Page'
import { ZoneSelect } from '@/parts/ZoneSelect'
import form from '../../job-form/JobForm.module.css'
import { Audience } from './Audience'
import { channelsOf, EMPTY, planOf, previewOf, specOf, usedChannels, type Plan } from './plan'
import { Preview } from './Preview'
import classes from './NewCampaign.module.css'

const LIST = '/notifications/campaigns'
// Fields of the API that have one here; other errors stand below the form.
const SHOWN = new Set(['name', 'template_id', 'channel', 'template_vars', 'audience', 'send_at', 'local_time', 'when_past', 'time', 'timezone', 'rate', 'canary', 'window', 'topic', 'urgency', 'expires_seconds', 'on_doubt', 'late_seconds', 'prepare_seconds', 'max_retries', 'retry_seconds', 'description'])

export function NewCampaignButton() {
  const session = useSession()
  return session.may('editor') ? <Button component={Link} to={`${LIST}/new`} leftSection={<IconPlus size={14} />}>{t('New campaign')}</Button> : null
}

export function NewCampaign() {
  const session = useSession()
  const [search] = useSearchParams()
  if (session.may('editor')) return <Form first={planOf(search)} />
  return <Page title={t('New campaign')} crumbs={[{ to: LIST, name: t('Campaigns') }]}><NotAllowed>{t('Campaigns are planned by editors of the namespace.')}</NotAllowed></Page>
}

function Form({ first }: { first: Plan }) {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const zone = useZone()
  const [plan, setPlan] = useState(first)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState<'draft' | 'plan' | null>(null)
  const sent = useRef({ body: '', key: '' })
  const [more, setMore] = useState(false)
  const set = <K extends keyof Plan>(name: K) => (value: Plan[K]) => {
    setPlan((now) => ({ ...now, [name]: value }))
    setError(null)
  }
  const text = (name: 'name' | 'description' | 'time' | 'windowStart' | 'windowEnd' | 'topic') => ({ value: plan[name], onChange: (event: { currentTarget: { value: string } }) => set(name)(event.currentTarget.value) })
  const chosen = useQuery({ queryKey: ['templates', plan.template, null], queryFn: () => call('GET /templates/{template_id}', { path: { template_id: plan.template }, query: { version: null } }), enabled: plan.template !== '', retry: false })
  const template = plan.template ? chosen.data : undefined
  const [asked, unreadable] = attempted(() => previewOf(plan, template, zone))
  const [wanted] = useDebouncedValue(asked ? JSON.stringify({ ...asked, name: asked.template_id }) : '', 400)
  const found = useQuery({
    queryKey: ['campaign-preview', wanted],
    queryFn: ({ signal }) => call('POST /campaigns/preview', { body: JSON.parse(wanted) as CampaignSpec, signal }),
    enabled: wanted !== '',
    placeholderData: keepPreviousData,
    retry: false,
  })
  // What saving refused is told until something is changed; what the preview refuses as long as it does.
  const errorOf = (name: string) => errorAt(error, name) ?? errorAt(unreadable, name) ?? (asked ? errorAt(found.error, name) : undefined)
  const save = async (draft: boolean) => {
    setBusy(draft ? 'draft' : 'plan')
    setError(null)
    try {
      const words = { template: t('Choose what is sent.'), audience: t('Say to whom.'), time: t('Say when, or save it as a draft.') }
      const body = specOf(plan, template, zone, words, draft)
      // If the answer is lost, saving the same once more makes no second campaign.
      const text = JSON.stringify(body)
      if (sent.current.body !== text) sent.current = { body: text, key: newKey() }
      const made = await call('POST /campaigns', { body, idempotencyKey: sent.current.key })
      tell(draft ? t('{name} is saved as a draft', { name: made.name }) : t('{name} is planned', { name: made.name }))
      await queries.invalidateQueries({ queryKey: ['campaigns'] })
      void navigate(`${LIST}/${made.campaign_id}`)
    } catch (failure) {
      setError(failure)
      if (failure instanceof ApiError && failure.field && SHOWN.has(failure.field)) setMore(true)
    } finally {
      setBusy(null)
    }
  }
  const elsewhere = error !== null && !(error instanceof FieldError) && !(error instanceof ApiError && SHOWN.has(error.field?.split('.')[0] ?? ''))
  return (
    <Page title={t('New campaign')} crumbs={[{ to: LIST, name: t('Campaigns') }]} about={t('One template to many recipients. Nothing goes out before its time, or before it is started.')}>
      <form onSubmit={(event) => { event.preventDefault(); void save(true) }}>
        <Columns side>
          <Stack>
            <Panel title={t('What')}>
              <TextInput label={t('Name')} description={t('What people call it.')} required maxLength={200} {...text('name')} error={errorOf('name')} />
              <TemplateSelect value={plan.template} onChange={set('template')} error={errorOf('template_id') ?? (chosen.error instanceof ApiError ? chosen.error.message : undefined)} />
              <Channels plan={plan} template={template} onChange={set('channels')} error={errorOf('channel')} />
              <Values plan={plan} template={template} onChange={set('values')} error={errorOf('template_vars')} />
            </Panel>
            <Panel title={t('To whom')}><Audience plan={plan} set={set} error={errorOf('audience')} /></Panel>
            <Panel title={t('When')}>
              <Radio.Group aria-label={t('When')} value={plan.when} onChange={(value) => set('when')(value as Plan['when'])}>
                <div className={classes.choices}>
                  <Radio size="xs" value="local" label={t('At a local time')} description={t('The same time on the wall clock of each recipient: wave after wave around the earth.')} />
                  <Radio size="xs" value="instant" label={t('At one instant')} description={t('For all at the same moment, whatever their clocks show.')} />
                  <Radio size="xs" value="started" label={t('When it is started')} description={t('It stays a draft, and goes at once when you start it.')} />
                </div>
              </Radio.Group>
              {plan.when !== 'started' && <TextInput mt="md" type="datetime-local" label={t('Date and time')} description={plan.when === 'instant' ? t('On the clock of {zone}.', { zone }) : t('On the clock of each recipient.')} {...text('time')} error={errorOf('time') ?? errorOf('send_at') ?? errorOf('local_time')} />}
              {plan.when === 'local' && <Select mt="sm" label={t('Where that is over already')} allowDeselect={false} value={plan.whenPast} onChange={(value) => set('whenPast')((value ?? 'send_now') as WhenPast)} data={[{ value: 'send_now', label: t('send it at once') }, { value: 'next_day', label: t('send it on the next day') }, { value: 'skip', label: t('leave them out') }]} error={errorOf('when_past')} />}
            </Panel>
            <Panel title={<button type="button" className={form.more} aria-expanded={more} onClick={() => setMore(!more)}>{more ? <IconChevronDown size={14} /> : <IconChevronRight size={14} />}{t('Pace, hours and details')}</button>}>
              <Collapse expanded={more}>
                <div className={form.grid}>
                  <Amount label={t('Messages per second at most')} description={t('Empty: as fast as it goes.')} value={plan.rate} onChange={set('rate')} min={0.01} error={errorOf('rate')} />
                  <Amount label={t('First part, percent')} description={t('It is sent first; then the campaign waits for your decision. Empty: all at once.')} value={plan.canary} onChange={set('canary')} min={0.01} max={50} error={errorOf('canary')} />
                  <TextInput type="time" label={t('Not before')} description={t('On the clock of each recipient.')} {...text('windowStart')} error={errorOf('window')} />
                  <TextInput type="time" label={t('Not after')} description={t('What is left goes the next day.')} {...text('windowEnd')} />
                  <Select label={t('Urgency')} description={t('Quiet hours hold all but asap.')} clearable placeholder={t('That of the template')} data={['asap', 'time_sensitive', 'digest']} value={plan.urgency} onChange={set('urgency')} error={errorOf('urgency')} />
                  <TextInput label={t('Topic')} description={t('Recipients who opted out of it get nothing.')} placeholder={template?.topic ?? undefined} {...text('topic')} error={errorOf('topic')} />
                  <ZoneSelect label={t('Zone of recipients without one')} description={t('Empty: that of the namespace.')} value={plan.timezone} onChange={set('timezone')} error={errorOf('timezone')} />
                  <Amount label={t('Expires, hours')} description={t('Not sent later than this after its time. Empty: never.')} value={plan.expiresHours} onChange={set('expiresHours')} min={0.01} error={errorOf('expires_seconds')} />
                  <Select label={t('What was perhaps sent')} description={t('When a worker dies while it sends.')} clearable placeholder={t('As the provider allows')} data={[{ value: 'hold', label: t('is held for a person') }, { value: 'resend', label: t('is sent again') }]} value={plan.onDoubt} onChange={(value) => set('onDoubt')(value as OnDoubt | null)} error={errorOf('on_doubt')} />
                  <Amount label={t('Late limit, hours')} description={t('If it starts later than this, it waits for your decision.')} value={plan.lateHours} onChange={(value) => set('lateHours')(value ?? EMPTY.lateHours)} min={0.17} error={errorOf('late_seconds')} />
                  <Amount label={t('Prepared before, minutes')} description={t('Its messages are written and checked so long before.')} value={plan.prepareMinutes} onChange={(value) => set('prepareMinutes')(value ?? EMPTY.prepareMinutes)} min={0} error={errorOf('prepare_seconds')} />
                  <Amount label={t('Retries')} description={t('Tries after the first one.')} value={plan.retries} onChange={(value) => set('retries')(value ?? EMPTY.retries)} min={0} max={100} error={errorOf('max_retries')} />
                  <Amount label={t('Between two tries, minutes')} value={plan.retryMinutes} onChange={(value) => set('retryMinutes')(value ?? EMPTY.retryMinutes)} min={0.02} error={errorOf('retry_seconds')} />
                </div>
                <Textarea mt="sm" label={t('Description')} autosize maxLength={2000} {...text('description')} error={errorOf('description')} />
              </Collapse>
              {!more && <p className={classes.note}>{t('Rate, a part that goes first, hours of the day, urgency, topic. The defaults are good for most campaigns.')}</p>}
            </Panel>
            {elsewhere && <Alert color="red" p={0}><Failure error={error} /></Alert>}
            <Group gap="xs">
              <Button type="submit" size="sm" loading={busy === 'draft'} disabled={busy !== null}>{t('Save as a draft')}</Button>
              {plan.when !== 'started' && <Button type="button" size="sm" variant="default" loading={busy === 'plan'} disabled={busy !== null} onClick={(event) => { if (event.currentTarget.form?.reportValidity()) void save(false) }}>{t('Plan it for its time')}</Button>}
              <Button variant="subtle" color="gray" size="sm" component={Link} to={LIST}>{t('Leave it')}</Button>
            </Group>
          </Stack>
          <Stack><Preview plan={plan} asked={asked} found={found} /></Stack>
        </Columns>
      </form>
    </Page>
  )
}

function Amount({ value, onChange, ...rest }: { label: string; description?: string; value: number | null; onChange: (value: number | null) => void; min: number; max?: number; error?: string | undefined }) {
  return <NumberInput {...rest} value={value ?? ''} onChange={(given) => onChange(given === '' ? null : Number(given))} />
}

/** Found by the beginning of its id. */
function TemplateSelect({ value, onChange, error }: { value: string; onChange: (value: string) => void; error: string | undefined }) {
  const [typed, setTyped] = useState(value)
  const [search] = useDebouncedValue(typed === value ? '' : typed.trim(), 200)
  const found = useQuery({ queryKey: ['templates', 'choice', search], queryFn: ({ signal }) => call('GET /templates', { query: { limit: 50, ...(search ? { search } : {}) }, signal }), placeholderData: keepPreviousData })
  const ids = (found.data ?? []).map((each) => each.template_id)
  return (
    <Select
      mt="sm"
      label={t('Template')}
      description={<>{t('What is sent, in the language of each recipient.')} <Link className="link" to="/notifications/templates/new">{t('New template')}</Link></>}
      withAsterisk
      searchable
      placeholder={t('Choose')}
      nothingFoundMessage={t('No template begins with that')}
      data={value && !ids.includes(value) ? [value, ...ids] : ids}
      // The server has looked already.
      filter={({ options }) => options}
      value={value || null}
      onChange={(chosen) => onChange(chosen ?? '')}
      searchValue={typed}
      onSearchChange={setTyped}
      error={error}
    />
  )
}

function Channels({ plan, template, onChange, error }: { plan: Plan; template: TemplateView | undefined; onChange: (value: string[]) => void; error: string | undefined }) {
  const written = channelsOf(template)
  if (written.length < 2 && !error) return null
  return <MultiSelect mt="sm" label={t('Channels')} description={t('Tried in this order, as far as the template has texts for them.')} data={written.map((value) => ({ value, label: channelName(value) }))} value={usedChannels(plan, template)} onChange={onChange} error={error} />
}

/** The variables of the template: what is empty here each recipient must bring. */
function Values({ plan, template, onChange, error }: { plan: Plan; template: TemplateView | undefined; onChange: (value: Plan['values']) => void; error: string | undefined }) {
  const variables = Object.entries(template?.variables ?? {}) as [string, { type?: string; default?: unknown; sample?: unknown }][]
  if (variables.length === 0) return null
  return (
    <>
      <p className={classes.note}>{t('Values for all recipients. What is left empty comes from the fields of each recipient.')}</p>
      <div className={form.grid}>
        {variables.map(([name, spec]) => <TextInput key={name} label={name} placeholder={String(spec.default ?? '')} value={plan.values[name] ?? ''} onChange={(event) => onChange({ ...plan.values, [name]: event.currentTarget.value })} />)}
      </div>
      {error && <p className="bad">{error}</p>}
    </>
  )
}
