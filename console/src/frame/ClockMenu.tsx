/** The time, and in which zone times are shown. */
import { Menu, UnstyledButton } from '@mantine/core'
import { IconCheck } from '@tabler/icons-react'
import { t } from '@/i18n'
import { abbreviation, browserZone, shortly, type ZoneChoice } from '@/parts/instant'
import { useNow } from '@/parts/Time'
import { useLiveState, useSession, useZone } from './session'
import classes from './LiveMark.module.css'

export function ClockMenu() {
  const ticking = useNow()
  const { skew } = useLiveState()
  const session = useSession()
  const zone = useZone()
  const now = new Date(ticking.getTime() + skew)
  const choices: [ZoneChoice, string, string][] = [
    ['mine', t('My zone'), browserZone()],
    ['job', t("Each job's zone"), t('else mine')],
    ['utc', 'UTC', ''],
  ]
  // The clock itself goes by the zone of the reader then.
  const name = [abbreviation(zone, now), session.zoneChoice === 'job' && t("job's zone")].filter(Boolean).join(' · ')
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <UnstyledButton className={classes.mark}>
          <span className="num">{shortly(now, zone, now, true)}</span>
          <span className={classes.word}>{name}</span>
          <span className="hidden-label">{t('Zone of times')}</span>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t('Show times in')}</Menu.Label>
        {choices.map(([choice, title, detail]) => (
          <Menu.Item key={choice} onClick={() => session.setZoneChoice(choice)} rightSection={session.zoneChoice === choice ? <IconCheck size={14} /> : null}>
            {title} <span className="quiet">{detail}</span>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
