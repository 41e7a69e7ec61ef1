/** What a campaign would do if it were made now: how many get it, when the first and the last of them, and what it looks like. */
import { Skeleton } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { ApiError, call } from '@/api/client'
import type { CampaignCheck, CampaignSpec, CampaignZone } from '@/api/schema'
import { useZone } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import { duration, inZones } from '@/parts/instant'
import { Failure, Panel, Stack } from '@/parts/Page'
import { Time, useNow } from '@/parts/Time'
import form from '../../job-form/JobForm.module.css'
import { Rendered } from '../template'
import { goingFirst, wavesOf, type Plan } from './plan'
import classes from './NewCampaign.module.css'

const MOST_ZONES = 8

interface Props {
  plan: Plan
  asked: CampaignSpec | null
  found: UseQueryResult<CampaignCheck>
}

export function Preview({ plan, asked, found }: Props) {
  const failed = found.error instanceof ApiError ? found.error : null
  return (
    <div className={form.preview}>
      <Stack>
        <div aria-live="polite">
          <Panel title={t('Who gets it, and when')} flush>
            {!asked && <p className={form.hint}>{t('Choose a template and recipients to see how many get it, and when.')}</p>}
            {asked && !found.data && !failed && <div className={form.hint}><Skeleton height={22} width="50%" mb={10} /><Skeleton height={12} width="80%" /></div>}
            {asked && failed && <div className={form.hint}><p className="bad">{failed.message}</p>{failed.hint && <p>{failed.hint}</p>}</div>}
            {asked && !failed && found.data && <Reach check={found.data} plan={plan} />}
          </Panel>
        </div>
        {asked && <Look asked={asked} />}
      </Stack>
    </div>
  )
}

function Reach({ check, plan }: { check: CampaignCheck; plan: Plan }) {
  const first = goingFirst(check, plan)
  const notes: [boolean, string][] = [
    [check.unreachable > 0, tn('{count} cannot be reached', '{count} cannot be reached', check.unreachable)],
    [check.incomplete > 0, `${tn('{count} lacks a variable', '{count} lack a variable', check.incomplete)}: ${check.missing_variables.join(', ')}`],
    [check.skipped > 0, tn('{count} is left out: the time is over there', '{count} are left out: the time is over there', check.skipped)],
    [check.unknown > 0, tn('{count} of the list is no recipient', '{count} of the list are no recipients', check.unknown)],
    [check.duplicates > 0, tn('{count} is named more than once', '{count} are named more than once', check.duplicates)],
  ]
  const facts: [boolean, string][] = [
    [plan.rate !== null && check.recipients > 0, t('At this rate it takes {time}.', { time: duration(check.recipients / (plan.rate ?? 1)) })],
    [plan.canary !== null && check.recipients > 0, tn('{count} goes first; then it waits for your decision.', '{count} go first; then it waits for your decision.', first)],
    [Boolean(plan.windowStart && plan.windowEnd), t('Only from {start} to {end} where each recipient is.', { start: plan.windowStart, end: plan.windowEnd })],
  ]
  return (
    <>
      <p className={classes.reach}><strong>{number(check.recipients)}</strong> {tn('recipient', 'recipients', check.recipients)}{!check.whole && <span className="quiet"> {t('at least')}</span>}</p>
      {notes.some(([holds]) => holds) && <ul className={classes.notes}>{notes.filter(([holds]) => holds).map(([, text]) => <li key={text} className="warn">{text}</li>)}</ul>}
      <Waves check={check} plan={plan} />
      {facts.some(([holds]) => holds) && <ul className={classes.notes}>{facts.filter(([holds]) => holds).map(([, text]) => <li key={text}>{text}</li>)}</ul>}
      <p className={form.hint}>{t('Quiet hours and caps of recipients can make single messages later.')}</p>
    </>
  )
}

function Waves({ check, plan }: { check: CampaignCheck; plan: Plan }) {
  const waves = wavesOf(check)
  if (plan.when === 'started' || !plan.time) return <p className={form.hint}>{plan.when === 'started' ? t('All of them at once, when it is started.') : t('Say when, to see the first and the last wave.')}</p>
  if (!waves) return null
  const { first, last } = waves
  const together = first.send_at_utc === last.send_at_utc
  return (
    <>
      <dl className={classes.waves}>
        <div><dt>{together ? t('All at once') : t('First wave')}</dt><dd><Time at={first.send_at_utc} show="both" />{!together && <small>{placeOf(first)}</small>}</dd></div>
        {!together && <div><dt>{t('Last wave')}</dt><dd><Time at={last.send_at_utc} show="both" /><small>{placeOf(last)}</small></dd></div>}
        {!together && <div><dt>{t('Between them')}</dt><dd>{duration((Date.parse(last.send_at_utc ?? '') - Date.parse(first.send_at_utc ?? '')) / 1000)}</dd></div>}
      </dl>
      {plan.when === 'local' && <Zones zones={check.zones} />}
    </>
  )
}

/** The times where the recipients are, and for the reader. */
function Zones({ zones }: { zones: CampaignZone[] }) {
  const now = useNow()
  const mine = useZone()
  return (
    <ol className={form.times}>
      {zones.slice(0, MOST_ZONES).map((zone) => (
        <li key={zone.timezone} data-skipped={zone.send_at_utc === null || undefined}>
          <span>
            <span className={form.local}>{placeOf(zone)}</span>
            <small>{zone.send_at_utc === null ? t('left out') : t('{time} for you', { time: inZones(new Date(zone.send_at_utc), [mine], now) })}</small>
            {noteOf(zone) && <em>{noteOf(zone)}</em>}
          </span>
          <span className="quiet num">{number(zone.recipients)}</span>
        </li>
      ))}
      {zones.length > MOST_ZONES && <li><span className="quiet">{tn('and {count} more zone', 'and {count} more zones', zones.length - MOST_ZONES)}</span></li>}
    </ol>
  )
}

function placeOf(zone: CampaignZone): string {
  return zone.timezone.split('/').at(-1)?.replaceAll('_', ' ') ?? zone.timezone
}

/** What was made of a time that does not exist there, happens twice, or is over. */
function noteOf(zone: CampaignZone): string | null {
  const note = zone.note ?? {}
  if ('gap' in note) return t('This time does not exist there: the first one after the gap.')
  if ('fold' in note) return t('This time happens twice there: the first one.')
  if (note['when_past'] === 'next_day') return t('Over there: on the next day.')
  if (note['when_past'] === 'send_now') return t('Over there: at once.')
  return null
}

/** The message as a recipient gets it on the first channel. */
function Look({ asked }: { asked: CampaignSpec }) {
  const channel = [asked.channel ?? 'email'].flat()[0] ?? 'email'
  const body = { channel, template_vars: asked.template_vars ?? {} }
  const found = useQuery({
    queryKey: ['template-preview', asked.template_id, 'campaign', JSON.stringify(body)],
    queryFn: () => call('POST /templates/{template_id}/preview', { path: { template_id: asked.template_id }, body }),
    placeholderData: keepPreviousData,
    retry: false,
  })
  const shown = found.data?.find((each) => each.channel === channel)
  return (
    <Panel title={t('As a recipient gets it')} right={asked.template_id}>
      {found.error ? <Failure error={found.error} /> : shown ? <Rendered shown={shown} /> : <Skeleton height={60} />}
    </Panel>
  )
}
