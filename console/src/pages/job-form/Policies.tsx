/** What happens when something is late, fails or takes long: each policy with a line that says what it means as it is set. */
import { NumberInput, Select, TagsInput, Textarea, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { JOB_FIELDS } from '@/api/schema'
import { t } from '@/i18n'
import { duration } from '@/parts/instant'
import type { Draft } from './draft'
import classes from './JobForm.module.css'

interface Props {
  draft: Draft
  set<K extends keyof Draft>(name: K): (value: Draft[K]) => void
  errorOf(name: string): string | undefined
}

type Named<T> = { [K in keyof Draft]: Draft[K] extends T ? K : never }[keyof Draft]

export function Policies({ draft, set, errorOf }: Props) {
  const limits = (name: string) => (JOB_FIELDS as Record<string, { min?: number; max?: number }>)[name] ?? {}
  const figure = (name: Named<number | null>, label: string, description: string, empty?: string) => (
    <NumberInput
      label={label}
      description={description}
      placeholder={empty}
      {...limits(name)}
      value={draft[name] ?? ''}
      onChange={(value) => set(name as 'max_runs')(value === '' ? (empty ? null : (limits(name).min ?? 0)) : Number(value))}
      error={errorOf(name)}
    />
  )
  const choice = (name: Named<string>, label: string, description: string, data: string[]) => (
    <Select label={label} description={description} allowDeselect={false} data={data} value={draft[name]} onChange={(value) => value && set(name)(value)} error={errorOf(name)} />
  )
  const optional = (name: Named<string | null>, label: string, description: string, data: string[]) => (
    <Select label={label} description={description} clearable placeholder={t('as usual')} data={data} value={draft[name]} onChange={(value) => set(name as 'gap')(value)} error={errorOf(name)} />
  )
  const text = (name: Named<string>, label: string, description: string, placeholder?: string) => (
    <TextInput label={label} description={description} placeholder={placeholder} value={draft[name] ?? ''} onChange={(event) => set(name)(event.currentTarget.value)} error={errorOf(name)} />
  )
  const zone = draft.timezone ?? 'UTC'
  return (
    <>
      <Group title={t('If it fails')}>
        {figure('max_retries', t('Retries'), t('Tries after the first one.'))}
        {choice('retry_backoff', t('Wait between tries'), backoffText(draft), ['fixed', 'linear', 'exponential'])}
        {figure('retry_base_seconds', t('First wait, seconds'), duration(draft.retry_base_seconds))}
        {figure('retry_max_seconds', t('Longest wait, seconds'), duration(draft.retry_max_seconds))}
        {figure('timeout_seconds', t('Timeout, seconds'), t('How long a try may take.'))}
      </Group>
      <Group title={t('If it is late, or busy')}>
        {choice('overlap', t('If the run before has not ended'), overlapText(draft.overlap), ['ALLOW', 'SKIP', 'QUEUE_ONE', 'CANCEL_RUNNING'])}
        {optional('missed_window', t('Times that were missed'), missedText(draft.missed_window), ['SKIP', 'RUN_ONCE', 'RUN_ALL'])}
        {figure('grace_seconds', t('Grace, seconds'), t('Up to this late a time is late, not missed.'))}
        {figure('catch_up_seconds', t('Catch-up limit, seconds'), t('What was missed by more is not run.'), t('no limit'))}
        {draft.missed_window === 'RUN_ALL' && figure('max_missed', t('Most missed times'), t('More than these are recorded, not run.'))}
        {figure('expires_seconds', t('Expires, seconds'), t('Not worth starting later than this.'), t('never'))}
      </Group>
      <Group title={t('When exactly')}>
        {figure('jitter_seconds', t('Spread, seconds'), t('A fixed offset of its own within this time.'))}
        {optional('gap', t('Clock goes forward'), gapText(draft.gap), ['after', 'shift', 'skip'])}
        {optional('fold', t('Clock goes back'), foldText(draft.fold), ['first', 'second', 'both'])}
        <TextInput type="datetime-local" label={t('Starts')} description={t('Nothing fires before. On the clock of {zone}.', { zone })} value={draft.starts} onChange={(event) => set('starts')(event.currentTarget.value)} error={errorOf('starts_at')} />
        <TextInput type="datetime-local" label={t('Ends')} description={t('Nothing fires after. On the clock of {zone}.', { zone })} value={draft.ends} onChange={(event) => set('ends')(event.currentTarget.value)} error={errorOf('ends_at')} />
        {figure('max_runs', t('At most runs'), t('How often it fires in all.'), t('no end'))}
        <TagsInput size="xs" label={t('Excluded days')} description={t('2026-12-25, or from/to: 2026-12-24/2027-01-02')} value={draft.exclude} onChange={set('exclude')} error={errorOf('exclude')} />
      </Group>
      <Group title={t('Who takes it, and how many at once')}>
        {text('queue', t('Queue'), t('Which workers may take it.'))}
        <Select label={t('Priority')} description={t('0 is first.')} allowDeselect={false} data={['0', '1', '2', '3']} value={String(draft.priority)} onChange={(value) => set('priority')(Number(value))} error={errorOf('priority')} />
        {text('concurrency_key', t('Concurrency key'), t('As many as its queue allows share one.'), '{{payload.customer}}')}
        {text('idempotency_key_template', t('Idempotency key'), t('What each target receives. Empty: job and time.'), 'report-{{week}}')}
      </Group>
      <Group title={t('About it')}>
        {text('owner', t('Owner'), t('Whom to ask.'))}
        <TagsInput size="xs" label={t('Labels')} description="name=value" value={draft.labels} onChange={set('labels')} error={errorOf('labels')} />
        <Textarea className={classes.wide ?? ''} label={t('Description')} autosize value={draft.description} onChange={(event) => set('description')(event.currentTarget.value)} error={errorOf('description')} />
      </Group>
    </>
  )
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <fieldset className={classes.group}>
      <legend>{title}</legend>
      <div className={classes.grid}>{children}</div>
    </fieldset>
  )
}

/** “1 min, 2 min, 4 min …”: the first waits as they are set. */
export function backoffText({ retry_backoff: kind, retry_base_seconds: base, retry_max_seconds: most, max_retries: retries }: Pick<Draft, 'retry_backoff' | 'retry_base_seconds' | 'retry_max_seconds' | 'max_retries'>): string {
  if (retries === 0) return t('It is tried once.')
  const waits = Array.from({ length: Math.min(retries, 3) }, (_, place) => Math.min(most, kind === 'fixed' ? base : kind === 'linear' ? base * (place + 1) : base * 2 ** place))
  return `${waits.map(duration).join(', ')}${retries > waits.length ? ' …' : ''}`
}

function overlapText(value: string): string {
  return { ALLOW: t('Both run at the same time.'), SKIP: t('The new one is recorded as skipped.'), QUEUE_ONE: t('One waits until the other has ended.'), CANCEL_RUNNING: t('The one that runs is cancelled.') }[value] ?? ''
}

function missedText(value: string | null): string {
  return { SKIP: t('They are recorded, not run.'), RUN_ONCE: t('The latest runs, the others are recorded.'), RUN_ALL: t('Each one runs, one after another.') }[value ?? ''] ?? t('Default: the latest runs once.')
}

function gapText(value: string | null): string {
  return { after: t('At the first instant after the gap.'), shift: t('As far past the gap as it was into it.'), skip: t('It is skipped, and recorded.') }[value ?? ''] ?? t('A local time that does not exist.')
}

function foldText(value: string | null): string {
  return { first: t('The first time.'), second: t('The second time.'), both: t('Both times.') }[value ?? ''] ?? t('A local time that happens twice.')
}
