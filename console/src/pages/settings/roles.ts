import type { Role } from '@/api/schema'
import { t } from '@/i18n'

/** What each role may do, in the language of the page. */
export const ROLE_TEXTS = (): Record<Role, string> => ({
  viewer: t('sees everything in the namespace, changes nothing'),
  worker: t('carries runs out and reports'),
  operator: t('also pauses, runs, cancels, redrives'),
  editor: t('also makes, changes and deletes jobs and content'),
  admin: t('also keys, secrets, quotas'),
})
