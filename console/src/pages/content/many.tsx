/** What can be done to many planned actions and releases. */
import { Group, NumberInput } from '@mantine/core'
import { t } from '@/i18n'
import type { ManyAction } from '@/parts/many'

const THINGS: Record<'content/schedules' | 'content/releases', [string, string]> = {
  'content/schedules': ['{count} action', '{count} actions'],
  'content/releases': ['{count} release', '{count} releases'],
}
type Place = keyof typeof THINGS

export const approving = (place: Place): ManyAction => ({ place, action: 'approve', title: t('Approve'), verb: t('Approve'), things: THINGS[place], effect: t('They go out at their times. What needs no approval, or has one, is left alone.') })

export const cancelling = (place: Place): ManyAction => ({
  place,
  action: 'cancel',
  title: place === 'content/releases' ? t('Cancel releases') : t('Cancel actions'),
  verb: t('Cancel'),
  things: THINGS[place],
  effect: t('What is to come does not go out, of series all times, of windows both ends. What was published stays as it is. It can be restored before its time.'),
  destructive: true,
  undo: 'restore',
})

export const restoring = (place: Place): ManyAction => ({ place, action: 'restore', title: t('Restore what was cancelled'), verb: t('Restore'), things: THINGS[place], effect: t('They go out at their times, approved as they were. One whose time is over, or that contradicts another plan by now, is refused.'), undo: 'cancel' })

/** By so much later; the wall clock keeps its time over a change of the clock. */
export function moving(place: Place): ManyAction {
  const by = { days: 1, minutes: 0 }
  return {
    place,
    action: 'move',
    title: place === 'content/releases' ? t('Move releases') : t('Move actions'),
    verb: t('Move'),
    things: THINGS[place],
    effect: t('Each goes out so much later than it was to. One that contradicts another plan then is refused; series and items of releases are not moved here.'),
    more: () => by,
    children: (
      <Group mt="md" gap="xs" grow>
        <NumberInput label={t('Days later')} description={t('Less than 0: earlier.')} defaultValue={1} allowDecimal={false} min={-3650} max={3650} onChange={(value) => { by.days = Number(value) || 0 }} />
        <NumberInput label={t('Minutes later')} description={t('On top of that.')} defaultValue={0} allowDecimal={false} min={-525600} max={525600} onChange={(value) => { by.minutes = Number(value) || 0 }} />
      </Group>
    ),
  }
}
