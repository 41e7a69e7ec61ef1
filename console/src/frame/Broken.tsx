/** Instead of a page that broke, or that could not be loaded: after an upgrade of the server the files of the old one are gone. */
import { Button } from '@mantine/core'
import { useRouteError } from 'react-router'
import { t } from '@/i18n'
import { Failure } from '@/parts/Page'

export function Broken({ error }: { error: unknown }) {
  return (
    <div role="alert">
      <Failure error={error} />
      <Button ml="md" variant="default" onClick={() => location.reload()}>{t('Load the page again')}</Button>
    </div>
  )
}

export function BrokenRoute() {
  return <Broken error={useRouteError()} />
}
