/** One form for a new job, a clone and an edit, with a preview that follows every key. */
import { Alert, Autocomplete, Button, Collapse, Group, NumberInput, Select, Skeleton, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react'
import { keepPreviousData, useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useNavigate, useParams, useSearchParams } from 'react-router'
import { ApiError, call, callExact } from '@/api/client'
import { writeExact } from '@/api/exact'
import { JOB_FIELDS, type JobSpec, type JobView, type PreviewInCompany } from '@/api/schema'
import { locale, t, tn } from '@/i18n'
import { errorAt, FieldError, parsedAt } from '@/parts/field'
import { browserZone, duration, shortly, validZone } from '@/parts/instant'
import { tell } from '@/parts/notify'
import { Columns, Failure, Page, PageOf, Panel, Stack } from '@/parts/Page'
import { TestTarget } from '@/parts/TestTarget'
import { Time } from '@/parts/Time'
import { ZoneSelect } from '@/parts/ZoneSelect'
import { ClockChanges } from '../job/ClockChanges'
import { definitionOf } from '../job/texts'
import { ScheduleField } from './ScheduleField'
import classes from './JobForm.module.css'

interface Draft {
  name: string
  schedule: string
  timezone: string | null
  targetKind: string
  handler: string
  url: string
  method: string
  targetJson: string
  payload: string
  queue: string
  max_retries: number
  timeout_seconds: number
  overlap: string
  missed_window: string | null
  jitter_seconds: number
  grace_seconds: number
  expires_seconds: number | null
  gap: string | null
  fold: string | null
  priority: number
  labels: string[]
  description: string
  owner: string
}

export default function JobForm() {
  const { job: ref } = useParams()
  const [search] = useSearchParams()
  const source = ref ?? search.get('clone')
  const asked = useQuery({ queryKey: ['job', source, 'form'], queryFn: () => callExact('GET /jobs/{job}', { path: { job: source ?? '' } }), enabled: source !== null && source !== undefined, staleTime: Infinity })
  if (!source) return <Form before={null} draft={{ ...EMPTY, name: search.get('name') ?? '', schedule: search.get('schedule') ?? '', handler: search.get('handler') ?? '', timezone: search.get('timezone') ?? browserZone() }} />
  return <PageOf query={asked} list={{ to: '/jobs', name: t('Jobs') }}>{(job) => <Form key={job.job_id} before={ref ? job : null} draft={{ ...draftOf(job), name: ref ? job.name : `${job.name}-copy` }} />}</PageOf>
}

const EMPTY: Draft = {
  name: '', schedule: '', timezone: null, targetKind: 'handler', handler: '', url: '', method: 'POST', targetJson: '{}', payload: '', queue: JOB_FIELDS.queue.default,
  max_retries: JOB_FIELDS.max_retries.default, timeout_seconds: JOB_FIELDS.timeout_seconds.default, overlap: JOB_FIELDS.overlap.default, missed_window: null,
  jitter_seconds: JOB_FIELDS.jitter_seconds.default, grace_seconds: JOB_FIELDS.grace_seconds.default, expires_seconds: null, gap: null, fold: null, priority: JOB_FIELDS.priority.default, labels: [],
  description: '', owner: '',
}

export function draftOf(job: JobView): Draft {
  const given = definitionOf(job) as Partial<JobSpec>
  const target = (given.target ?? {}) as Record<string, unknown>
  const http = target['http'] as { url?: string; method?: string } | undefined
  const simple = http && Object.keys(http).every((name) => ['url', 'method'].includes(name))
  return {
    ...EMPTY,
    ...Object.fromEntries(Object.entries(given).filter(([name]) => name in EMPTY && !['payload', 'labels'].includes(name))),
    targetKind: typeof target['handler'] === 'string' ? 'handler' : simple ? 'http' : 'json',
    handler: typeof target['handler'] === 'string' ? target['handler'] : '',
    url: http?.url ?? '',
    method: http?.method ?? 'POST',
    targetJson: writeExact(target),
    payload: given.payload === undefined || given.payload === null ? '' : writeExact(given.payload),
    labels: Object.entries(given.labels ?? {}).map(([name, value]) => `${name}=${String(value)}`),
  }
}

/** What is sent; raises `FieldError` for JSON that cannot be read. */
export function specOf(draft: Draft): Record<string, unknown> {
  const { targetKind, handler, url, method, targetJson, payload, labels, ...plain } = draft
  const spec: Record<string, unknown> = { ...plain, description: draft.description || null, owner: draft.owner || null }
  spec['payload'] = payload.trim() ? parsedAt('payload', payload) : null
  spec['labels'] = Object.fromEntries(labels.map((label) => [label.split('=')[0] ?? label, label.split('=').slice(1).join('=')]))
  if (targetKind === 'json') spec['target'] = parsedAt('target', targetJson)
  else if (targetKind === 'http') spec['target'] = { http: { url, method } }
  else if (handler) spec['target'] = { handler }
  return spec
}

function Form({ before, draft: first }: { before: JobView | null; draft: Draft }) {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [draft, setDraft] = useState(first)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const [more, setMore] = useState(before !== null)
  const set = <K extends keyof Draft>(name: K) => (value: Draft[K]) => setDraft((now) => ({ ...now, [name]: value }))
  const text = (name: 'name' | 'handler' | 'url' | 'payload' | 'targetJson' | 'queue' | 'description' | 'owner') => ({ value: draft[name], onChange: (event: { currentTarget: { value: string } }) => set(name)(event.currentTarget.value) })
  const fieldError = (name: string) => errorAt(error, name)
  const [asked] = useDebouncedValue({ schedule: draft.schedule.trim(), timezone: draft.timezone, gap: draft.gap, fold: draft.fold, jitter_seconds: draft.jitter_seconds }, 250)
  const preview = useQuery({
    queryKey: ['preview', asked],
    queryFn: ({ signal }) => call('POST /preview', { query: { count: 10 }, body: asked as unknown as JobSpec, signal }),
    enabled: asked.schedule.length > 0,
    placeholderData: keepPreviousData,
    retry: false,
  })
  const save = async () => {
    setBusy(true)
    setError(null)
    try {
      const spec = specOf(draft)
      const saved = before
        ? await call('PATCH /jobs/{job}', { path: { job: before.job_id }, body: changesOf(spec, specOf(first)), revision: before.revision })
        : await call('POST /jobs', { body: spec as unknown as JobSpec })
      tell(before ? t('{name} is changed', { name: saved.name }) : t('{name} is made', { name: saved.name }))
      await queries.invalidateQueries({ predicate: ({ queryKey: [name] }) => ['job', 'jobs'].includes(String(name)) })
      void navigate(`/jobs/${saved.job_id}`)
    } catch (failure) {
      setError(failure)
      if (failure instanceof ApiError || failure instanceof FieldError) setMore(true)
    } finally {
      setBusy(false)
    }
  }
  const title = before ? t('Edit {name}', { name: before.name }) : t('New job')
  const stale = error instanceof ApiError && error.status === 412
  return (
    <Page title={title} crumbs={before ? [{ to: '/jobs', name: t('Jobs') }, { to: `/jobs/${before.job_id}`, name: before.name }] : [{ to: '/jobs', name: t('Jobs') }]}>
      <form onSubmit={(event) => { event.preventDefault(); void save() }}>
        <Columns side>
          <Stack>
            <Panel title={t('When')}>
              <ScheduleField value={draft.schedule} onChange={set('schedule')} zone={draft.timezone ?? 'UTC'} error={fieldError('schedule') ?? errorAt(preview.error, 'schedule')} />
              <ZoneSelect mt="sm" value={draft.timezone} onChange={set('timezone')} description={t('The wall clock that the schedule is read on. Without one: UTC.')} error={fieldError('timezone') ?? errorAt(preview.error, 'timezone')} />
            </Panel>
            <Panel title={t('What')}>
              <TextInput label={t('Name')} description={t('Unique among live jobs.')} required {...text('name')} error={fieldError('name')} />
              <Select mt="sm" label={t('Target')} allowDeselect={false} value={draft.targetKind} onChange={(value) => set('targetKind')(value ?? 'handler')} data={[{ value: 'handler', label: t('A handler of a worker') }, { value: 'http', label: t('An HTTP request') }, { value: 'json', label: t('Another target, as JSON') }]} />
              {draft.targetKind === 'handler' && <HandlerField value={draft.handler} name={draft.name} onChange={set('handler')} error={fieldError('target')} />}
              {draft.targetKind === 'http' && (
                <Group mt="sm" gap="xs" align="start" wrap="nowrap">
                  <Select label={t('Method')} w={100} allowDeselect={false} data={['POST', 'GET', 'PUT', 'PATCH', 'DELETE']} value={draft.method} onChange={(value) => set('method')(value ?? 'POST')} />
                  <TextInput flex={1} label="URL" placeholder="https://example.com/hook" {...text('url')} error={fieldError('target')} />
                </Group>
              )}
              {draft.targetKind === 'json' && <Textarea mt="sm" autosize minRows={4} label={t('Target')} description={t('message, celery, shell or http with all options: see the API documentation.')} classNames={{ input: classes.code ?? '' }} {...text('targetJson')} error={fieldError('target')} />}
              <Textarea mt="sm" autosize minRows={3} maxRows={16} label={t('Payload')} description={t('Any JSON; numbers stay exactly as you write them.')} placeholder={'{"report": "weekly"}'} classNames={{ input: classes.code ?? '' }} {...text('payload')} error={fieldError('payload')} />
              {draft.targetKind !== 'handler' && <TestTarget ask={() => { const spec = specOf(draft); return { target: spec['target'] as Record<string, unknown>, payload: spec['payload'] } }} />}
            </Panel>
            <Panel title={<button type="button" className={classes.more} aria-expanded={more} onClick={() => setMore(!more)}>{more ? <IconChevronDown size={14} /> : <IconChevronRight size={14} />}{t('Policies and details')}</button>}>
              <Collapse expanded={more}>
                <div className={classes.grid}>
                  <Select label={t('If the run before has not ended')} description={overlapText(draft.overlap)} allowDeselect={false} data={['ALLOW', 'SKIP', 'QUEUE_ONE', 'CANCEL_RUNNING']} value={draft.overlap} onChange={(value) => set('overlap')(value ?? 'ALLOW')} error={fieldError('overlap')} />
                  <Select label={t('Times that were missed')} description={missedText(draft.missed_window)} clearable data={['SKIP', 'RUN_ONCE', 'RUN_ALL']} value={draft.missed_window} onChange={set('missed_window')} error={fieldError('missed_window')} />
                  <NumberInput label={t('Retries')} description={t('Tries after the first one.')} min={JOB_FIELDS.max_retries.min} max={JOB_FIELDS.max_retries.max} value={draft.max_retries} onChange={(value) => set('max_retries')(Number(value))} error={fieldError('max_retries')} />
                  <NumberInput label={t('Timeout, seconds')} description={t('How long a try may take.')} min={JOB_FIELDS.timeout_seconds.min} value={draft.timeout_seconds} onChange={(value) => set('timeout_seconds')(Number(value))} error={fieldError('timeout_seconds')} />
                  <NumberInput label={t('Spread, seconds')} description={t('A fixed offset of its own within this time.')} min={JOB_FIELDS.jitter_seconds.min} value={draft.jitter_seconds} onChange={(value) => set('jitter_seconds')(Number(value))} error={fieldError('jitter_seconds')} />
                  <NumberInput label={t('Expires, seconds')} description={t('Not worth starting later than this. Empty: never.')} min={JOB_FIELDS.expires_seconds.min} value={draft.expires_seconds ?? ''} onChange={(value) => set('expires_seconds')(value === '' ? null : Number(value))} error={fieldError('expires_seconds')} />
                  <Select label={t('Clock goes forward')} description={t('A local time that does not exist.')} clearable data={['after', 'shift', 'skip']} value={draft.gap} onChange={set('gap')} error={fieldError('gap')} />
                  <Select label={t('Clock goes back')} description={t('A local time that happens twice.')} clearable data={['first', 'second', 'both']} value={draft.fold} onChange={set('fold')} error={fieldError('fold')} />
                  <TextInput label={t('Queue')} description={t('Which workers may take it.')} {...text('queue')} error={fieldError('queue')} />
                  <Select label={t('Priority')} description={t('0 is first.')} allowDeselect={false} data={['0', '1', '2', '3']} value={String(draft.priority)} onChange={(value) => set('priority')(Number(value))} />
                  <TextInput label={t('Owner')} description={t('Whom to ask.')} {...text('owner')} />
                  <TagsInput size="xs" label={t('Labels')} description="name=value" value={draft.labels} onChange={set('labels')} />
                </div>
                <Textarea mt="sm" label={t('Description')} autosize {...text('description')} />
              </Collapse>
              {!more && <p className="quiet">{t('Retries, overlap, missed times, clock changes, queue, labels. The defaults are good for most jobs.')}</p>}
            </Panel>
            {error !== null && !(error instanceof FieldError) && (
              <Alert color="red" p={0}>
                <Failure error={error} />
                {stale && before && <Button m="sm" variant="default" onClick={() => location.reload()}>{t('Load what it is now')}</Button>}
              </Alert>
            )}
            <Group gap="xs">
              <Button type="submit" size="sm" loading={busy}>{before ? t('Save') : t('Make the job')}</Button>
              <Button variant="default" size="sm" component={Link} to={before ? `/jobs/${before.job_id}` : '/jobs'}>{t('Leave it')}</Button>
            </Group>
          </Stack>
          <Stack><LivePreview asked={asked} preview={preview} spread={(seconds) => { set('jitter_seconds')(seconds); setMore(true) }} /></Stack>
        </Columns>
      </form>
    </Page>
  )
}

/** Only what differs: others may have changed the rest. */
export function changesOf(spec: Record<string, unknown>, before: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(spec).filter(([name, value]) => writeExact(value, 0) !== writeExact(before[name], 0)))
}

function overlapText(value: string): string {
  return { ALLOW: t('Both run at the same time.'), SKIP: t('The new one is recorded as skipped.'), QUEUE_ONE: t('One waits until the other has ended.'), CANCEL_RUNNING: t('The one that runs is cancelled.') }[value] ?? ''
}

function missedText(value: string | null): string {
  return { SKIP: t('They are recorded, not run.'), RUN_ONCE: t('The latest runs, the others are recorded.'), RUN_ALL: t('Each one runs, one after another.') }[value ?? ''] ?? t('Default: the latest runs once.')
}

interface Asked {
  schedule: string
  timezone: string | null
}

function LivePreview({ asked, preview, spread }: { asked: Asked; preview: UseQueryResult<PreviewInCompany>; spread: (seconds: number) => void }) {
  const failed = preview.error instanceof ApiError ? preview.error : null
  const data = preview.data
  const zone = validZone(asked.timezone)
  const mine = browserZone()
  return (
    <div className={classes.preview} aria-live="polite">
      <Panel title={t('Preview')} right={asked.timezone ?? 'UTC'} flush>
        {!asked.schedule && (
          <div className={classes.hint}>
            <p>{t('Write a schedule to see when it fires.')}</p>
          </div>
        )}
        {asked.schedule && !data && !failed && <div className={classes.hint}><Skeleton height={12} mb={10} /><Skeleton height={12} width="70%" /></div>}
        {failed && (
          <div className={classes.hint}>
            <p className="bad">{failed.message}</p>
            {failed.hint && <p>{failed.hint}</p>}
          </div>
        )}
        {!failed && data && asked.schedule && (
          <>
            <p className={classes.words}>{data.explanation}</p>
            <ol className={classes.times}>
              {data.occurrences.map((each) => (
                <li key={each.scheduled_at + each.local} data-skipped={each.skipped ? true : undefined}>
                  <span>
                    <span className={classes.local}>{weekday(each.scheduled_at, zone)}</span>
                    {zone !== mine && <small>{t('{time} for you', { time: shortly(new Date(each.scheduled_at), mine, new Date(each.scheduled_at)) })}</small>}
                    {each.note && <em>{each.note}</em>}
                    {each.skipped && !each.note && <em>{t('skipped')}: {t(each.skipped)}</em>}
                  </span>
                  <span className="quiet"><Time at={each.scheduled_at} zone={asked.timezone} /></span>
                </li>
              ))}
            </ol>
            {data.warnings.map((warning) => <p key={warning} className={classes.hint}>{warning}</p>)}
            <ClockChanges changes={data.clock_changes} zone={zone} />
            {data.shares_minute !== null && (
              <div className={classes.company}>
                <span>{data.shares_minute === 0 ? t('No other job fires in its next minute.') : tn('{count} other job fires in its next minute.', '{count} other jobs fire in its next minute.', data.shares_minute)}</span>
                {data.spread_offer ? <Button variant="default" onClick={() => spread(data.spread_offer ?? 0)}>{t('Spread it over {time}', { time: duration(data.spread_offer) })}</Button> : null}
              </div>
            )}
          </>
        )}
      </Panel>
    </div>
  )
}

/** “Thu 19 Nov, 02:30 CET”, with seconds if it has some. */
function weekday(at: string, zone: string): string {
  const instant = new Date(at)
  return new Intl.DateTimeFormat(locale(), {
    timeZone: zone, weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short',
    ...(instant.getUTCSeconds() ? { second: '2-digit' } : {}),
    ...(instant.getTime() - Date.now() > 300 * 86_400_000 ? { year: 'numeric' } : {}),
  }).format(instant)
}

/** The handlers of the workers that are up; one that none has is told, as its runs would wait. */
function HandlerField({ value, name, onChange, error }: { value: string; name: string; onChange: (value: string) => void; error?: string | undefined }) {
  const workers = useQuery({ queryKey: ['workers'], queryFn: () => call('GET /workers', {}), staleTime: 30_000, retry: false })
  const having = new Map<string, number>()
  for (const worker of workers.data ?? []) for (const handler of worker.handlers ?? []) having.set(handler, (having.get(handler) ?? 0) + 1)
  const meant = value.trim() || name.trim()
  const count = having.get(meant) ?? 0
  return (
    <div>
      <Autocomplete mt="sm" label={t('Handler')} description={t('Default: the handler with the name of the job.')} placeholder="sexton.log" value={value} onChange={onChange} data={[...having.keys()].toSorted()} limit={20} error={error} />
      {meant && workers.data && (
        <p className={count ? classes.served : classes.unserved}>
          {count ? tn('{count} worker has {handler}.', '{count} workers have {handler}.', count, { handler: meant }) : t('No worker that is up has {handler}: its runs would wait for one.', { handler: meant })}
        </p>
      )}
    </div>
  )
}
