/** Whether what is shown is live, how old it is, and a button that stops it from moving. */
import { Tooltip, UnstyledButton } from '@mantine/core'
import { IconPlayerPauseFilled, IconPlayerPlayFilled } from '@tabler/icons-react'
import { t } from '@/i18n'
import { age } from '@/parts/instant'
import { useNow } from '@/parts/Time'
import { useLiveState, useSession } from './session'
import classes from './LiveMark.module.css'

// The server says something every few seconds.
const OLD_SECONDS = 8

export function LiveMark() {
  const live = useLiveState()
  const { feed } = useSession()
  const now = useNow()
  if (live.state === 'off') return null
  const seconds = Math.max(0, (now.getTime() - live.heardAt) / 1000)
  const paused = live.state === 'paused'
  const word = paused ? t('Paused') : live.state === 'live' ? t('Live') : live.state === 'lost' ? t('Lost') : t('Connecting')
  const label = paused ? t('Go on with live data') : t('Pause live data')
  return (
    <Tooltip label={`${label} · ${age(seconds)}`}>
      <UnstyledButton className={classes.mark} data-state={live.state} onClick={() => (paused ? feed.resume() : feed.pause())}>
        <span className={classes.dot} aria-hidden />
        <span className={classes.word}>{word}</span>
        <span className="hidden-label">{label}</span>
        <span className={classes.age} data-old={paused || seconds >= OLD_SECONDS || undefined}>{age(seconds)}</span>
        {paused ? <IconPlayerPlayFilled size={11} aria-hidden /> : <IconPlayerPauseFilled size={11} aria-hidden />}
      </UnstyledButton>
    </Tooltip>
  )
}
