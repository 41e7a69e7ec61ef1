/** What did not work, in words: a title, what the server says, and what to do. */
import { ApiError, Unreachable } from '@/api/client'
import { t } from '@/i18n'

export function failureTitle(error: unknown): string {
  if (error instanceof Unreachable) return t('The server cannot be reached')
  if (error instanceof ApiError && error.status === 403) return t('Not allowed')
  return error instanceof ApiError && error.status === 404 ? t('Not found') : t('That did not work')
}

/** `once`: it was asked for once, and is not asked for again by itself. */
export function failureText(error: unknown, once = false): string {
  if (!(error instanceof Unreachable)) return error instanceof Error ? error.message : String(error)
  if (error.change) return t('It may have been done all the same: look before you try it again.')
  return once ? t('Try it again when the connection is back.') : t('It is tried again by itself.')
}
