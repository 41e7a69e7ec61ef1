/** Instead of a page that broke, or of the frame where its file could not be loaded. */
import { Button } from '@mantine/core'
import { useRouteError } from 'react-router'
import { t } from '@/i18n'
import { Failure } from '@/parts/Page'

const RELOADED = 'sexton.reloaded'
/** What fails again so soon is not loaded once more by itself. */
const SOON_MS = 30_000

export function Broken({ error }: { error: unknown }) {
  return (
    <div role="alert">
      <Failure error={error} />
      <Button ml={42} variant="default" onClick={reload}>{t('Load the page again')}</Button>
    </div>
  )
}

export function BrokenRoute() {
  return <Broken error={useRouteError()} />
}

export function reload(): void {
  try {
    sessionStorage.setItem(RELOADED, String(Date.now()))
  } catch {
    // Storage is forbidden.
  }
  location.reload()
}

/** Where that cannot be known, as if it were so: a page is not loaded again and again. */
export function reloadedSoon(): boolean {
  try {
    return Date.now() - Number(sessionStorage.getItem(RELOADED) ?? 0) < SOON_MS
  } catch {
    return true
  }
}
