/** Channels by the names that people have for them. */
import { t } from '@/i18n'

const NAMES: Record<string, string> = { email: 'E-mail', sms: 'SMS', push: 'Push', in_app: 'In the app' }

export function channelName(channel: string): string {
  const name = NAMES[channel]
  return name ? t(name) : channel
}
