/** Why something was not planned or moved: another plan contradicts it, which a person may overrule, it is no longer where it was, or anything else. */
import { Alert } from '@mantine/core'
import { ApiError } from '@/api/client'
import { t } from '@/i18n'
import { Failure } from '../Page'

export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'content_conflict'
}

export function Refusal({ error }: { error: unknown }) {
  if (error === null) return null
  const title = isConflict(error) ? t('Another plan contradicts it') : error instanceof ApiError && error.status === 412 ? t('It was changed since the calendar was drawn') : undefined
  return <Alert mt="md" color={title ? 'yellow' : 'red'} p={0}><Failure error={error} title={title} /></Alert>
}
