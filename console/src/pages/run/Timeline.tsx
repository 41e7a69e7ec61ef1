/** nominal → due → fired → started → finished: a bar to scale, and below it each moment with the wait before it named. */
import { Tooltip } from '@mantine/core'
import type { RunDetail } from '@/api/schema'
import { said, t } from '@/i18n'
import { duration } from '@/parts/instant'
import { Time } from '@/parts/Time'
import { momentsOf, offsetText, placesOf, spansOf, type Span } from './spans'
import classes from './Run.module.css'

type Told = Pick<RunDetail, 'scheduled_at' | 'status' | 'waits'>

/** `atOnce`: it was due at its nominal time, without an offset. */
function titleOf(name: string, atOnce = false): string {
  return { nominal: atOnce ? t('Scheduled, due') : t('Scheduled'), due: t('Due'), fired: t('Fired'), started: t('Claimed, started'), failed: t('Failed'), snoozed: t('Put off'), finished: t('Finished'), now: t('Now') }[name] ?? name
}

/** “4.2 s: no free slot”, or what was done in that time. */
function spanText(span: Span): string {
  const what = span.kind === 'waiting' ? (span.cause ? said(span.cause) : quietCause(span)) : span.kind === 'failed' ? t('try {number}, failed', { number: span.attempt ?? 1 }) : span.kind === 'stopped' ? t('try {number}, cancelled', { number: span.attempt ?? 1 }) : t('try {number}', { number: span.attempt ?? 1 })
  return what ? `${duration(span.seconds)}: ${what}` : duration(span.seconds)
}

/** What a wait that is too short for a cause was spent on. */
function quietCause(span: Span): string {
  if (span.from === 'nominal') return t('its own offset')
  if (span.to === 'fired') return t('until the scheduler fired it')
  if (span.from === 'snoozed') return t('until it was to go on')
  if (span.from === 'fired') return t('until a worker took it')
  return t('waited')
}

export function Timeline({ run }: { run: Told }) {
  const spans = spansOf(run)
  const moments = momentsOf(run)
  const atOnce = run.waits.some((wait) => wait.to === 'due') && !moments.some((moment) => moment.name === 'due')
  const places = placesOf(spans)
  const sum = (kinds: Span['kind'][]) => spans.filter((span) => kinds.includes(span.kind)).reduce((total, span) => total + span.seconds, 0)
  const whole = sum(['waiting', 'running', 'failed', 'stopped'])
  const worked = sum(['running', 'failed', 'stopped'])
  return (
    <div className={classes.timeline}>
      {spans.length > 0 && (
        <>
          <div className={classes.sums}>
            <span><i data-kind="waiting" />{t('waited')} <strong className="num">{duration(whole - worked)}</strong></span>
            <span><i data-kind="running" />{t('worked')} <strong className="num">{duration(worked)}</strong></span>
            <span className="quiet">{t('in all')} <span className="num">{duration(whole)}</span></span>
          </div>
          <div className={classes.track} role="img" aria-label={spans.map((span) => `${titleOf(span.from)} → ${titleOf(span.to)}: ${spanText(span)}`).join('; ')}>
            {spans.map((span, index) => {
              const place = places[index] ?? { left: 0, width: 0 }
              return (
                <Tooltip key={index} label={`${titleOf(span.from)} → ${titleOf(span.to)} · ${spanText(span)}`} openDelay={0}>
                  <div className={classes.span} data-kind={span.kind} style={{ left: `${place.left}%`, width: `${place.width}%` }}>
                    <span>{duration(span.seconds)}</span>
                  </div>
                </Tooltip>
              )
            })}
          </div>
        </>
      )}
      <ol className={classes.moments}>
        {moments.map((moment, index) => {
          const span = spans.findLast((each) => Math.abs(each.offset + each.seconds - moment.offset) < 0.0005)
          return (
            <li key={index} data-name={moment.name} data-kind={index > 0 ? span?.kind : undefined} data-long={(span?.kind === 'waiting' && span.seconds >= 1) || undefined}>
              <span className={classes.dot} aria-hidden />
              <strong>{titleOf(moment.name, atOnce)}</strong>
              <span className={classes.offset}>{offsetText(moment.offset)}</span>
              <span className={classes.clock}><Time at={moment.at} show="clock" seconds="ms" /></span>
              <span className={classes.cause}>{index > 0 && span ? spanText(span) : ''}</span>
            </li>
          )
        })}
      </ol>
    </div>
  )
}
