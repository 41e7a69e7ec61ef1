/** Short messages in the corner: what was done, and what did not work in the server's own words. */
import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { ApiError } from '@/api/client'
import { t } from '@/i18n'

export function tell(message: string): void {
  notifications.show({ message, color: 'bronze', autoClose: 4000, withBorder: true })
}

/** What was done, with a way back for as long as it is shown. */
export function tellUndo(message: string, undo: () => Promise<unknown>): void {
  const back = async () => {
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
  })
}

export function tellFailure(error: unknown): void {
  const hint = error instanceof ApiError && error.hint ? ` ${error.hint}` : ''
  notifications.show({
    title: t('That did not work'),
    message: `${error instanceof Error ? error.message : String(error)}${hint ? `.${hint}` : ''}`,
    color: 'red',
    autoClose: 10_000,
    withBorder: true,
  })
}
