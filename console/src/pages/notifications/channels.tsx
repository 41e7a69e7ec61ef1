import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { call } from '@/api/client'
import type { ChannelHealth, ProviderHealth } from '@/api/schema'
import { number, t } from '@/i18n'
import { channelName } from '@/parts/channel'
import { Empty } from '@/parts/Empty'
import { Answer, Panel } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import tables from '../queues/Queues.module.css'
import { MOST_POINTS, note, ratesOf, type Point } from './speed'
import classes from './Notifications.module.css'

const seen = new Map<string, Point[]>()

const LOOKS: Record<string, string> = { good: 'done', failing: 'warning', down: 'error', open: 'error', off: 'paused', unused: 'pending', none: 'pending' }

/** How each channel is, by what its providers answered. */
export function Channels() {
  const asked = useQuery({ queryKey: ['channels'], queryFn: () => call('GET /channels', {}), refetchInterval: 5000 })
  // What was counted at each look, as long as the console is open.
  useEffect(() => { if (asked.data) note(seen, asked.data.flatMap((each) => each.providers), asked.dataUpdatedAt) }, [asked.data, asked.dataUpdatedAt])
  return (
    <Answer query={asked}>
      {(channels) => channels.every((each) => each.providers.length === 0)
        ? <Empty title={t('No providers yet')} command="sexton providers --help">{t('Without one, messages are written to files: good for trying things out.')}</Empty>
        : (
          <Panel title={t('Channels')} flush>
            <div className={tables.scroll} tabIndex={0} role="group" aria-label={t('Channels')}><table className={tables.table}>
              <thead><tr><th scope="col">{t('Provider')}</th><th scope="col">{t('Kind')}</th><th scope="col">{t('State')}</th><th scope="col">{t('Accepted now')}</th><th scope="col" data-right>{t('Accepted')}</th><th scope="col" data-right>{t('Rejected')}</th><th scope="col" data-right>{t('Failed')}</th><th scope="col" data-right>{t('Unclear')}</th><th scope="col">{t('Last accepted')}</th><th scope="col">{t('Last failed')}</th></tr></thead>
              {channels.map((each) => <Channel key={each.channel} channel={each} />)}
            </table></div>
          </Panel>
        )}
    </Answer>
  )
}

/** Its name and state, and a line for each provider, in the columns of all. */
function Channel({ channel }: { channel: ChannelHealth }) {
  return (
    <tbody>
      <tr className={classes.channel}><th scope="rowgroup" colSpan={10}><span>{channelName(channel.channel)} <Status status={LOOKS[channel.state] ?? 'pending'} label={t(channel.state)} />{channel.providers.length === 0 && <span className="quiet">{channel.note ?? t('No provider')}</span>}</span></th></tr>
      {channel.providers.map((each) => <Provider key={each.name} provider={each} points={seen.get(each.name) ?? []} />)}
    </tbody>
  )
}

function Speed({ points }: { points: Point[] }) {
  const rates = ratesOf(points)
  const highest = Math.max(0.1, ...rates)
  const latest = rates.at(-1)
  if (latest === undefined) return <span className="quiet">–</span>
  return (
    <span className={classes.speed}>
      <svg viewBox={`0 0 ${MOST_POINTS} 20`} preserveAspectRatio="none" role="img" aria-label={t('{count} per second', { count: number(latest, 1) })}>
        {rates.map((rate, place) => <rect key={place} x={MOST_POINTS - rates.length + place + 0.1} width={0.8} y={19 - (rate / highest) * 18} height={(rate / highest) * 18 + 1} rx={0.2} />)}
      </svg>
      <span className="num">{t('{count}/s', { count: number(latest, 1) })}</span>
    </span>
  )
}

function Provider({ provider: each, points }: { provider: ProviderHealth; points: Point[] }) {
  return (
    <tr>
      <td><strong>{each.name}</strong>{each.reason && <div className="quiet">{each.reason}</div>}</td>
      <td>{each.kind}</td>
      <td><Status status={LOOKS[each.state] ?? 'pending'} label={t(each.state)} />{each.open_until && <div className="quiet">{t('until')} <Time at={each.open_until} show="clock" seconds /></div>}</td>
      <td><Speed points={points} /></td>
      <td data-right>{number(each.accepted)}</td>
      <td data-right className={each.rejected ? 'warn' : ''}>{number(each.rejected)}</td>
      <td data-right className={each.failed ? 'bad' : ''}>{number(each.failed)}</td>
      <td data-right className={each.unclear ? 'warn' : ''}>{number(each.unclear)}</td>
      <td><Time at={each.accepted_at} /></td>
      <td><Time at={each.failed_at} /></td>
    </tr>
  )
}
