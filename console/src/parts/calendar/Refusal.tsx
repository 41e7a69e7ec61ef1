/** Why something was not planned or moved: another plan contradicts it, which a person may overrule, or anything else. */
import { Alert } from '@mantine/core'
import { ApiError } from '@/api/client'
import { t } from '@/i18n'
import { Failure } from '../Page'

export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409
}

export function Refusal({ error }: { error: unknown }) {
  if (error === null) return null
  const conflict = isConflict(error)
  return <Alert mt="md" color={conflict ? 'yellow' : 'red'} p={0}><Failure error={error} title={conflict ? t('Another plan contradicts it') : undefined} /></Alert>
}
