/** One campaign: how far it is, how fast, by channel and wave, what is held and why, and what was done to it. */
import { Alert, Button, Progress } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Fragment, useMemo, useState } from 'react'
import { Link, useParams } from 'react-router'
import { call } from '@/api/client'
import type { CampaignChannel, CampaignCheck, CampaignCounts, CampaignProgress, CampaignView, CampaignWave } from '@/api/schema'
import { useSession, useZone } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import { Bars } from '@/parts/Bars'
import { channelName } from '@/parts/channel'
import { useConfirm } from '@/parts/Confirm'
import { Empty } from '@/parts/Empty'
import { shortly, wallOf } from '@/parts/instant'
import { Json } from '@/parts/Json'
import { takeBack } from '@/parts/many'
import { tellFailure, tellUndo } from '@/parts/notify'
import { Answer, Columns, Facts, Page, PageOf, Panel, Stack } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time, useNow } from '@/parts/Time'
import tables from '../queues/Queues.module.css'
import { doneShare, minutesOf, partsOf, zonesAt } from './pace'
import classes from './Notifications.module.css'

const MOST_WAVES = 60
const GOING = new Set(['scheduled', 'preparing', 'prepared', 'sending', 'waiting'])

export function Campaign() {
  const { campaign: id = '' } = useParams()
  const path = { campaign: id }
  const asked = useQuery({ queryKey: ['campaigns', id], queryFn: () => call('GET /campaigns/{campaign}', { path }), refetchInterval: ({ state }) => (state.data && GOING.has(state.data.status) ? 2000 : false) })
  const going = asked.data !== undefined && GOING.has(asked.data.status)
  const progress = useQuery({ queryKey: ['campaigns', id, 'progress'], queryFn: () => call('GET /campaigns/{campaign}/progress', { path }), refetchInterval: ({ state }) => (!going ? false : state.data?.minutes.length ? 10_000 : 2000) })
  return (
    <PageOf query={asked} list={{ to: '/notifications/campaigns', name: t('Campaigns') }}>
      {(campaign) => (
        <Page title={campaign.name} mark={<CampaignStatus status={campaign.status} />} crumbs={[{ to: '/notifications/campaigns', name: t('Campaigns') }]} about={campaign.description} actions={<Controls campaign={campaign} />}>
          {(campaign.reason || campaign.waits_for) && (
            <Alert color={campaign.status === 'failed' ? 'red' : 'yellow'} title={campaign.reason ? (campaign.status === 'waiting' ? t('It waits for your decision') : campaign.status === 'cancelled' ? t('Why it was cancelled') : campaign.status === 'failed' ? t('Why it failed') : t('Why it stands still')) : t('What its next messages wait for')}>
              {campaign.reason ?? campaign.waits_for}
              {campaign.next_at && !campaign.reason && <> · <Time at={campaign.next_at} show="both" /></>}
            </Alert>
          )}
          <Standing campaign={campaign} />
          <Columns side>
            <Stack>
              <Answer query={progress}>{(shown) => <Pace shown={shown} campaign={campaign} />}</Answer>
              <Answer query={progress}>{(shown) => <Waves waves={shown.waves} check={campaign.check} />}</Answer>
            </Stack>
            <Stack>
              <Answer query={progress}>{(shown) => <Channels shown={shown} />}</Answer>
              <Answer query={progress}>{(shown) => <Held shown={shown} campaign={campaign} />}</Answer>
              <Panel title={t('Facts')}>
                <Facts brief items={[
                  [t('Audience'), <Audience key="a" campaign={campaign} />],
                  [t('Template'), <Link key="t" className="link" to={`/notifications/templates/${encodeURIComponent(campaign.template_id)}?version=${campaign.template_version}`}>{campaign.template_id} {campaign.template_version}</Link>], [t('Channels'), campaign.channels.map(channelName).join(' → ')],
                  [t('When'), campaign.send_at ? <Time key="w" at={campaign.send_at} zone={campaign.timezone} show="both" /> : localTime(campaign.local_time)], [t('Messages per second at most'), campaign.rate === null ? t('no limit') : number(campaign.rate, 2)],
                  [t('Goes first'), campaign.canary === null ? null : `${number(campaign.canary * 100, 1)} %`], [t('Planned by'), campaign.created_by], [t('Job'), <Link key="j" className="link" to={`/jobs/${campaign.job_id}`}>{campaign.job_id}</Link>],
                  [t('Messages'), <Link key="m" className="link" to={`/notifications/messages?campaign_id=${campaign.campaign_id}`}>{t('Show all of them')}</Link>],
                ]} />
              </Panel>
            </Stack>
          </Columns>
        </Page>
      )}
    </PageOf>
  )
}

const PARTS: [keyof CampaignCounts, string, string][] = [['sent', 'Sent', 'good'], ['failed', 'Failed', 'bad'], ['unconfirmed', 'Unconfirmed', 'warn'], ['suppressed', 'Suppressed', 'idle'], ['expired', 'Expired', 'idle'], ['cancelled', 'Cancelled', 'idle'], ['left', 'Left', 'none']]

/** One bar of everything, and what its parts are. */
function Standing({ campaign }: { campaign: CampaignView }) {
  const { counts } = campaign
  const share = doneShare(counts)
  return (
    <Panel>
      <div className={classes.standing}>
        <strong className={classes.share}>{number(share, share < 10 ? 1 : 0)} %</strong>
        <span>{counts.total || campaign.ended_at ? tn('of {count} message', 'of {count} messages', counts.total) : t('Its messages are not written yet')}</span>
        <span className={classes.gap} />
        {campaign.per_second !== null && <span><b className="num">{number(campaign.per_second, 1)}</b> {t('per second')}</span>}
        {campaign.eta && <span>{t('ends')} <Time at={campaign.eta} show="both" /></span>}
        {campaign.ended_at && <span>{t('ended')} <Time at={campaign.ended_at} show="both" /></span>}
      </div>
      <div className={classes.parts} role="progressbar" aria-label={t('Progress')} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(share)}>
        {partsOf(counts).map(([name, width]) => <i key={name} data-tone={PARTS.find(([part]) => part === name)?.[2]} style={{ width: `${width}%` }} />)}
      </div>
      <dl className={classes.counts}>
        {PARTS.filter(([name]) => counts[name] > 0 || ['sent', 'failed', 'left'].includes(name)).map(([name, label, tone]) => (
          <div key={name}><dt><i data-tone={tone} aria-hidden />{t(label)}</dt><dd>{counts[name] > 0 ? <Link className="link" to={`/notifications/messages?campaign_id=${campaign.campaign_id}&status=${name === 'left' ? 'pending' : name}`}>{number(counts[name])}</Link> : 0}</dd></div>
        ))}
      </dl>
    </Panel>
  )
}

/** What went out in each minute. */
function Pace({ shown, campaign }: { shown: CampaignProgress; campaign: CampaignView }) {
  const zone = useZone()
  const minutes = useMemo(() => minutesOf(shown.minutes), [shown.minutes])
  const label = t('Sent per minute')
  return (
    <Panel title={label} right={shown.since ? <>{t('since')} <Time at={shown.since} show="clock" /></> : undefined}>
      {minutes.length === 0 ? <p className="quiet">{campaign.status === 'draft' ? t('It has not been started.') : t('Nothing has gone out yet.')}</p> : (
        <Bars label={`${label}: ${tn('{count} message', '{count} messages', minutes.reduce((sum, each) => sum + each.sent, 0))}`} height={110} bars={minutes.map((each, place) => ({ key: each.at, value: each.sent, label: `${wallOf(new Date(each.at), zone).slice(11)} · ${tn('{count} message', '{count} messages', each.sent)}`, tick: place % Math.ceil(minutes.length / 6) === 0 ? wallOf(new Date(each.at), zone).slice(11) : undefined, tone: 'accent' }))} />
      )}
    </Panel>
  )
}

function Waves({ waves, check }: { waves: CampaignWave[]; check: CampaignCheck | null }) {
  const now = useNow()
  const zone = useZone()
  if (waves.length === 0) return <Panel title={t('Waves')}><p className="quiet">{t('Its messages are written before its time; then the waves stand here.')}</p></Panel>
  return (
    <Panel title={t('Waves')} right={check && <span>{tn('{count} cannot be reached', '{count} cannot be reached', check.unreachable)} · {tn('{count} lacks a variable', '{count} lack a variable', check.incomplete)}</span>} flush>
      <div className={tables.scroll} tabIndex={0} role="group" aria-label={t('Waves')}>
        <table className={tables.table}>
          <thead><tr><th scope="col">{t('When')}</th><th scope="col">{t('Where')}</th><th scope="col">{t('State')}</th><th scope="col">{t('Progress')}</th></tr></thead>
          <tbody>
            {waves.slice(0, MOST_WAVES).map((wave) => {
              const places = wave.canary ? [] : zonesAt(check, wave.at)
              const done = wave.messages - wave.left - wave.cancelled
              return (
                <tr key={`${wave.at}-${wave.canary}`}>
                  <td><Time at={wave.at} show="both" />{new Date(wave.at) > now && places.length === 1 && places[0]?.timezone !== zone && <div className="quiet">{shortly(new Date(wave.at), places[0]?.timezone ?? zone, now)} {t('there')}</div>}</td>
                  <td className={classes.places} title={places.map((place) => place.timezone).join('\n')}>{wave.canary ? <Status status="pending" label={t('canary')} /> : places.length ? places.slice(0, 3).map((place) => place.timezone.split('/').at(-1)?.replaceAll('_', ' ')).join(', ') + (places.length > 3 ? ` +${number(places.length - 3)}` : '') : '–'}</td>
                  <td><Status status={wave.state === 'waiting' ? 'scheduled' : wave.state} label={t(wave.state)} />{wave.waits_for && <div className={classes.waits}>{wave.waits_for}{wave.next_at && <> · <Time at={wave.next_at} /></>}</div>}</td>
                  <td><div className={tables.slots}><Progress w={56} value={wave.messages ? (done / wave.messages) * 100 : 0} color={wave.state === 'done' ? 'var(--good-mark)' : 'var(--accent)'} aria-label={t('{done} of {total}', { done: number(done), total: number(wave.messages) })} /><span className="num">{number(done)}<span className="quiet"> / {number(wave.messages)}</span></span></div></td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
      {waves.length > MOST_WAVES && <p className="quiet" style={{ padding: '8px 14px' }}>{tn('and {count} more', 'and {count} more', waves.length - MOST_WAVES)}</p>}
    </Panel>
  )
}

function Channels({ shown }: { shown: CampaignProgress }) {
  if (shown.channels.length === 0) return null
  const highest = Math.max(...shown.channels.map(total))
  return (
    <Panel title={t('By channel')} right={shown.since ? t('of the latest {count}', { count: number(shown.counted) }) : undefined}>
      <dl className={classes.split}>
        {shown.channels.map((each) => (
          <Fragment key={each.channel}>
            <dt>{channelName(each.channel)}</dt>
            <dd>
              <span className={classes.parts} style={{ width: `${(total(each) / highest) * 100}%` }} aria-hidden>
                {partsOf(each).map(([name, width]) => <i key={name} data-tone={{ sent: 'good', failed: 'bad', others: 'idle' }[name] ?? 'none'} style={{ width: `${width}%` }} />)}
              </span>
              <span className="quiet">{[tn('{count} sent', '{count} sent', each.sent), each.failed ? t('{count} failed', { count: number(each.failed) }) : null, each.left ? tn('{count} left', '{count} left', each.left) : null, each.others ? tn('{count} not sent', '{count} not sent', each.others) : null].filter(Boolean).join(', ')}</span>
            </dd>
          </Fragment>
        ))}
      </dl>
    </Panel>
  )
}

function total(each: CampaignChannel): number {
  return each.sent + each.failed + each.left + each.others
}

/** Single messages that wait, and what held or released the whole. */
function Held({ shown, campaign }: { shown: CampaignProgress; campaign: CampaignView }) {
  return (
    <Panel title={t('What is held, and why')} flush>
      {shown.holds.length === 0 && shown.events.length === 0 ? <Empty title={t('Nothing is held')} /> : (
        <ul className={classes.rows}>
          {shown.holds.map((hold) => <li key={hold.reason}><Status status="held" label={t(hold.reason)} /><Link className="link num" to={`/notifications/messages?status=held&campaign_id=${campaign.campaign_id}`}>{tn('{count} message', '{count} messages', hold.messages)}</Link></li>)}
          {shown.events.toReversed().slice(0, 8).map((event) => <li key={event.at + event.kind}><Status status={event.kind === 'resumed' ? 'active' : event.kind === 'quota' ? 'held' : event.kind} label={t(event.kind)} /><span className="quiet clip" title={event.reason ?? ''}>{[event.reason, event.by].filter(Boolean).join(' · ')}</span><Time at={event.at} /></li>)}
        </ul>
      )}
    </Panel>
  )
}

/** One that waits has come to where a person has to decide. */
export function CampaignStatus({ status }: { status: string }) {
  return <Status status={status === 'waiting' ? 'held' : status} label={t(status)} />
}

/** “2027-03-14 08:00, where each recipient is”. */
export function localTime(text: string | null): string | null {
  return text && t('{time}, where each recipient is', { time: text.replace(/:00$/, '') })
}

/** To whom, in words where there are some; the rest as it was asked for. */
function Audience({ campaign }: { campaign: CampaignView }) {
  const { everyone, segment, list, user_ids: ids, sql, ...rest } = campaign.audience as { everyone?: boolean; segment?: string; list?: string; user_ids?: string[]; sql?: string }
  if (everyone) return <>{t('All recipients of the namespace')}</>
  if (segment) return <>{t('The segment')} <strong>{segment}</strong></>
  if (list) return <>{t('The list')} <strong>{list}</strong></>
  if (ids) return <>{tn('{count} recipient by name', '{count} recipients by name', ids.length)}</>
  if (sql) return <pre className={classes.query}>{sql}</pre>
  return <Json value={rest} />
}

function Controls({ campaign }: { campaign: CampaignView }) {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  if (!session.may('operator')) return null
  const path = { campaign: campaign.campaign_id }
  const refresh = () => queries.invalidateQueries({ queryKey: ['campaigns'] })
  const unclear = campaign.counts.unconfirmed
  const left = tn('{count} message is left', '{count} messages are left', campaign.counts.left)
  const question = (title: string, verb: string, effect: string, act: (reason: string | undefined) => Promise<unknown>, { destructive = false, undo }: { destructive?: boolean; undo?: 'pause' | 'resume' } = {}) => () =>
    ask({ title, object: campaign.name, effect: `${campaign.counts.total ? `${tn('{count} sent', '{count} sent', campaign.counts.sent)}, ${left}` : t('Its messages are not written yet')}. ${effect}`, verb, destructive, act: async (reason) => { await act(reason); if (undo) tellUndo(undo === 'resume' ? t('{name} is paused', { name: campaign.name }) : t('{name} goes on', { name: campaign.name }), () => takeBack('campaigns', undo, [campaign.campaign_id], refresh)); await refresh() } })
  return (
    <>
      {campaign.status === 'draft' && timed(campaign) && <Start campaign={campaign} refresh={refresh} />}
      {(campaign.status === 'draft' || campaign.status === 'scheduled') && <Start now campaign={campaign} refresh={refresh} />}
      {campaign.status === 'waiting' && <Button onClick={question(t('Let a campaign go on'), t('Go on'), t('All of them go out.'), (reason) => call('POST /campaigns/{campaign}/resume', { path, reason }))}>{t('Go on')}</Button>}
      {unclear > 0 && campaign.status !== 'cancelled' && campaign.status !== 'failed' && <Button variant="default" onClick={question(t('Send messages again'), t('Send again'), tn('{count} message may have gone out already: then it is there twice.', '{count} messages may have gone out already: then they are there twice.', unclear), (reason) => call('POST /campaigns/{campaign}/resend', { path, reason }))}>{t('Send again')}</Button>}
      {unclear > 0 && <Button variant="default" onClick={question(t('Count messages as sent'), t('Count as sent'), tn('{count} message that may have gone out is not sent again.', '{count} messages that may have gone out are not sent again.', unclear), (reason) => call('POST /campaigns/{campaign}/confirm', { path, reason }))}>{t('Count as sent')}</Button>}
      {GOING.has(campaign.status) && <Button variant="default" onClick={question(t('Pause a campaign'), t('Pause'), t('What has gone out is not taken back.'), (reason) => call('POST /campaigns/{campaign}/pause', { path, body: { reason: reason ?? null }, reason }), { undo: 'resume' })}>{t('Pause')}</Button>}
      {campaign.status === 'paused' && <Button onClick={question(t('Resume a campaign'), t('Resume'), t('It goes on where it stopped.'), (reason) => call('POST /campaigns/{campaign}/resume', { path, reason }), { undo: 'pause' })}>{t('Resume')}</Button>}
      {(GOING.has(campaign.status) || campaign.status === 'paused' || campaign.status === 'draft') && <Button variant="default" c="var(--bad)" onClick={question(t('Cancel a campaign'), t('Cancel'), t('What has gone out is not taken back.'), (reason) => call('POST /campaigns/{campaign}/cancel', { path, body: { reason: reason ?? null }, reason }), { destructive: true })}>{t('Cancel')}</Button>}
    </>
  )
}

function timed(campaign: CampaignView): boolean {
  return campaign.send_at !== null || campaign.local_time !== null
}

/** At its time or at once, after a count of those who get it. */
function Start({ campaign, now = false, refresh }: { campaign: CampaignView; now?: boolean; refresh(): unknown }) {
  const ask = useConfirm()
  const [counting, setCounting] = useState(false)
  const path = { campaign: campaign.campaign_id }
  const start = async () => {
    setCounting(true)
    try {
      const check = await call('POST /campaigns/{campaign}/check', { path })
      const verb = now ? t('Start now') : t('Start')
      ask({
        title: now ? t('Start a campaign now') : t('Start a campaign'),
        object: campaign.name,
        effect: <Effect campaign={campaign} check={check} now={now} />,
        verb: `${verb} · ${tn('{count} recipient', '{count} recipients', check.recipients)}`,
        act: async (reason) => {
          await call('POST /campaigns/{campaign}/start', { path, body: { now }, reason })
          await refresh()
        },
      })
    } catch (error) {
      tellFailure(error)
    } finally {
      setCounting(false)
    }
  }
  return <Button variant={now && timed(campaign) ? 'default' : 'filled'} loading={counting} onClick={() => void start()}>{now ? t('Start now') : t('Start')}</Button>
}

function Effect({ campaign, check, now }: { campaign: CampaignView; check: CampaignCheck; now: boolean }) {
  const count = check.recipients - (now ? 0 : check.skipped)
  const first = campaign.canary === null ? 0 : Math.ceil(count * campaign.canary)
  return (
    <>
      {now ? tn('It goes out at once to {count} recipient', 'It goes out at once to {count} recipients', count) : tn('It goes out at its time to {count} recipient', 'It goes out at its time to {count} recipients', count)}{!check.whole && <> {t('at least')}</>}
      {check.unreachable > 0 && <>, {tn('{count} cannot be reached', '{count} cannot be reached', check.unreachable)}</>}
      {check.incomplete > 0 && <>, {tn('{count} lacks a variable', '{count} lack a variable', check.incomplete)}</>}
      {check.unknown > 0 && <>, {tn('{count} of the list is no recipient', '{count} of the list are no recipients', check.unknown)}</>}.
      {first > 0 && <> {tn('{count} goes first; then it waits for your decision.', '{count} go first; then it waits for your decision.', first)}</>}
      {timed(campaign) && <> {now ? t('Its time counts no more:') : t('Its time:')} {campaign.send_at ? <Time at={campaign.send_at} zone={campaign.timezone} show="both" /> : localTime(campaign.local_time)}.</>}
      {' '}{t('What has gone out is not taken back.')}
    </>
  )
}
