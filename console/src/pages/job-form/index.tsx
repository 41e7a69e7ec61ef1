/** One form for a new job, a clone and an edit, with a preview that follows every key. */
import { Alert, Button, Collapse, Group, Select, Textarea, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Link, useNavigate, useParams, useSearchParams } from 'react-router'
import { ApiError, call, callExact } from '@/api/client'
import type { JobSpec, JobView } from '@/api/schema'
import { t } from '@/i18n'
import { errorAt, FieldError } from '@/parts/field'
import { browserZone } from '@/parts/instant'
import { tell } from '@/parts/notify'
import { Columns, Failure, Page, PageOf, Panel, Stack } from '@/parts/Page'
import { TestTarget } from '@/parts/TestTarget'
import { ZoneSelect } from '@/parts/ZoneSelect'
import { Conflict } from './Conflict'
import { changesOf, draftOf, EMPTY, specOf, type Draft } from './draft'
import { Policies } from './Policies'
import { LivePreview } from './Preview'
import { ScheduleField } from './ScheduleField'
import { HandlerField } from './HandlerField'
import classes from './JobForm.module.css'

export default function JobForm() {
  const { job: ref } = useParams()
  const [search] = useSearchParams()
  const source = ref ?? search.get('clone')
  // As it was when the form was opened: what others change meanwhile must neither take away what is typed nor be overwritten unseen.
  const asked = useQuery({ queryKey: ['opened-job', source], queryFn: () => callExact('GET /jobs/{job}', { path: { job: source ?? '' } }), enabled: ({ state }) => Boolean(source) && state.data === undefined, gcTime: 0 })
  if (!source) return <Form source={null} before={null} draft={{ ...EMPTY, name: search.get('name') ?? '', schedule: search.get('schedule') ?? '', handler: search.get('handler') ?? '', timezone: search.get('timezone') ?? browserZone() }} />
  return <PageOf query={asked} list={{ to: '/jobs', name: t('Jobs') }}>{(job) => <Form key={`${job.job_id}-${job.revision}`} source={source} before={ref ? job : null} draft={{ ...draftOf(job), name: ref ? job.name : `${job.name}-copy` }} />}</PageOf>
}

function Form({ source, before, draft: first }: { source: string | null; before: JobView | null; draft: Draft }) {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [draft, setDraft] = useState(first)
  const [reason, setReason] = useState('')
  const [error, setError] = useState<unknown>(null)
  // What another has made of the job meanwhile.
  const [theirs, setTheirs] = useState<JobView | null>(null)
  const [busy, setBusy] = useState(false)
  const [more, setMore] = useState(before !== null)
  const set = <K extends keyof Draft>(name: K) => (value: Draft[K]) => setDraft((now) => ({ ...now, [name]: value }))
  const text = (name: 'name' | 'url' | 'payload' | 'targetJson') => ({ value: draft[name], onChange: (event: { currentTarget: { value: string } }) => set(name)(event.currentTarget.value) })
  const errorOf = (name: string) => errorAt(error, name)
  // As a text: an object would be another one each time it is drawn, and be drawn again for that.
  const [wanted] = useDebouncedValue(JSON.stringify({ schedule: draft.schedule.trim(), timezone: draft.timezone, gap: draft.gap, fold: draft.fold, jitter_seconds: draft.jitter_seconds, exclude: draft.exclude, ...(before?.anchor ? { anchor: before.anchor } : {}) }), 250)
  const asked = JSON.parse(wanted) as JobSpec
  const preview = useQuery({
    queryKey: ['preview', wanted],
    queryFn: ({ signal }) => call('POST /preview', { query: { count: 10 }, body: asked, signal }),
    enabled: asked.schedule.length > 0,
    placeholderData: keepPreviousData,
    retry: false,
  })
  const save = async (revision: number | undefined) => {
    setBusy(true)
    setError(null)
    setTheirs(null)
    try {
      const spec = specOf(draft)
      const saved = before
        ? await call('PATCH /jobs/{job}', { path: { job: before.job_id }, body: changesOf(spec, specOf(first)), revision, reason: reason.trim() || undefined })
        : await call('POST /jobs', { body: spec as unknown as JobSpec })
      tell(before ? t('{name} is changed', { name: saved.name }) : t('{name} is made', { name: saved.name }))
      await queries.invalidateQueries({ predicate: ({ queryKey: [name] }) => ['job', 'jobs'].includes(String(name)) })
      void navigate(`/jobs/${saved.job_id}`)
    } catch (failure) {
      if (before && failure instanceof ApiError && failure.status === 412) setTheirs(await callExact('GET /jobs/{job}', { path: { job: before.job_id } }).catch(() => null))
      setError(failure)
      if (failure instanceof ApiError || failure instanceof FieldError) setMore(true)
    } finally {
      setBusy(false)
    }
  }
  const form = useRef<HTMLFormElement>(null)
  // What was refused may be far above the button, or among the policies, which open for it.
  useEffect(() => {
    if (error === null) return
    const frame = requestAnimationFrame(() => {
      const field = form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')
      field?.focus({ preventScroll: true })
      field?.scrollIntoView({ block: 'center' })
    })
    return () => cancelAnimationFrame(frame)
  }, [error])
  const title = before ? t('Edit {name}', { name: before.name }) : t('New job')
  return (
    <Page title={title} crumbs={before ? [{ to: '/jobs', name: t('Jobs') }, { to: `/jobs/${before.job_id}`, name: before.name }] : [{ to: '/jobs', name: t('Jobs') }]}>
      <form ref={form} className={classes.form} onSubmit={(event) => { event.preventDefault(); void save(before?.revision) }}>
        <Columns side>
          <Stack>
            <Panel title={t('When')}>
              <ScheduleField value={draft.schedule} onChange={set('schedule')} zone={draft.timezone ?? 'UTC'} error={errorOf('schedule') ?? errorAt(preview.error, 'schedule')} />
              <ZoneSelect mt="sm" value={draft.timezone} onChange={set('timezone')} description={t('The wall clock that the schedule is read on. Without one: UTC.')} error={errorOf('timezone') ?? errorAt(preview.error, 'timezone')} />
            </Panel>
            <Panel title={t('What')}>
              <TextInput label={t('Name')} description={t('Unique among live jobs.')} required {...text('name')} error={errorOf('name')} />
              <Select mt="sm" label={t('Target')} allowDeselect={false} value={draft.targetKind} onChange={(value) => set('targetKind')(value ?? 'handler')} data={[{ value: 'handler', label: t('A handler of a worker') }, { value: 'http', label: t('An HTTP request') }, { value: 'json', label: t('Another target, as JSON') }]} />
              {draft.targetKind === 'handler' && <HandlerField value={draft.handler} name={draft.name} onChange={set('handler')} error={errorOf('target')} />}
              {draft.targetKind === 'http' && (
                <Group mt="sm" gap="xs" align="start" wrap="nowrap">
                  <Select label={t('Method')} w={100} allowDeselect={false} data={['POST', 'GET', 'PUT', 'PATCH', 'DELETE']} value={draft.method} onChange={(value) => set('method')(value ?? 'POST')} />
                  <TextInput flex={1} label="URL" placeholder="https://example.com/hook" {...text('url')} error={errorOf('target')} />
                </Group>
              )}
              {draft.targetKind === 'json' && <Textarea mt="sm" autosize minRows={4} maxRows={16} label={t('Target')} description={t('message, celery, shell or http with all options: see the API documentation.')} classNames={{ input: classes.code ?? '' }} {...text('targetJson')} error={errorOf('target')} />}
              <Textarea mt="sm" autosize minRows={3} maxRows={16} label={t('Payload')} description={t('Any JSON; numbers stay exactly as you write them.')} placeholder={'{"report": "weekly"}'} classNames={{ input: classes.code ?? '' }} {...text('payload')} error={errorOf('payload')} />
              {draft.targetKind !== 'handler' && <TestTarget ask={() => { const spec = specOf(draft); return { target: spec['target'] as Record<string, unknown>, payload: spec['payload'] } }} />}
            </Panel>
            <Panel title={<button type="button" className={classes.more} aria-expanded={more} onClick={() => setMore(!more)}>{more ? <IconChevronDown size={14} /> : <IconChevronRight size={14} />}{t('Policies and details')}</button>}>
              <Collapse expanded={more} transitionDuration={0}><Policies draft={draft} set={set} errorOf={errorOf} /></Collapse>
              {!more && <p className="quiet">{t('Retries, overlap, missed times, clock changes, queue, labels. The defaults are good for most jobs.')}</p>}
            </Panel>
            {before && <TextInput label={t('Reason (optional)')} description={t('Kept with the change, and in the audit.')} value={reason} onChange={(event) => setReason(event.currentTarget.value)} maxLength={1000} />}
            {theirs && before ? (
              <Conflict before={before} theirs={theirs} mine={changesOf(specOf(draft), specOf(first))} over={() => void save(theirs.revision)} take={() => queries.setQueryData(['opened-job', source], theirs)} />
            ) : error !== null && !(error instanceof FieldError) && (
              <Alert color="red" p={0}><Failure error={error} /></Alert>
            )}
            <Group gap="xs">
              <Button type="submit" size="sm" loading={busy}>{before ? t('Save') : t('Make the job')}</Button>
              <Button variant="default" size="sm" component={Link} to={before ? `/jobs/${before.job_id}` : '/jobs'}>{t('Leave it')}</Button>
            </Group>
          </Stack>
          <Stack><LivePreview asked={asked} preview={preview} own={before?.status === 'active' ? before.next_run_at : null} spread={(seconds) => { set('jitter_seconds')(seconds); setMore(true) }} /></Stack>
        </Columns>
      </form>
    </Page>
  )
}
