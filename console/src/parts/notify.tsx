/** Short messages in the corner: what was done, and what did not work in the server's own words. */
import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { ApiError } from '@/api/client'
import { t } from '@/i18n'
import { failureText, failureTitle } from './failure'

export function tell(message: string): void {
  notifications.show({ message, color: 'bronze', autoClose: 4000, withBorder: true, closeButtonProps: closing() })
}

/** What was done, with a way back for as long as it is shown. */
export function tellUndo(message: string, undo: () => Promise<unknown>): void {
  let used = false
  const back = async () => {
    // It is there for a moment longer: the second click of two takes nothing back twice.
    if (used) return
    used = true
    notifications.hide(id)
    try {
      await undo()
      tell(t('It is as it was'))
    } catch (error) {
      tellFailure(error)
    }
  }
  const id = notifications.show({
    message: <span style={{ display: 'flex', alignItems: 'center', justifyContent: 'space-between', gap: 12 }}>{message}<Button variant="subtle" size="compact-sm" style={{ flexShrink: 0 }} onClick={() => void back()}>{t('Undo')}</Button></span>,
    color: 'bronze',
    autoClose: 12_000,
    withBorder: true,
    closeButtonProps: closing(),
  })
}

export function tellFailure(error: unknown): void {
  const hint = error instanceof ApiError && error.hint ? `. ${error.hint}` : ''
  notifications.show({
    title: failureTitle(error),
    message: `${failureText(error, true)}${hint}`,
    color: 'red',
    autoClose: 10_000,
    withBorder: true,
    closeButtonProps: closing(),
  })
}

/** The sign that closes a message has no text of its own. */
function closing(): { 'aria-label': string } {
  return { 'aria-label': t('Close') }
}
