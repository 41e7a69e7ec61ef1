/** Short messages in the corner: what was done, and what did not work in the server's own words. */
import { notifications } from '@mantine/notifications'
import { ApiError } from '@/api/client'
import { t } from '@/i18n'

export function tell(message: string): void {
  notifications.show({ message, color: 'bronze', autoClose: 4000, withBorder: true })
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
