/** Instead of a page whose file could not be loaded: the connection is away, or the server has another version by now. */
import { Button } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { useRouteError } from 'react-router'
import { Unreachable } from '@/api/client'
import { t } from '@/i18n'
import { Failure, Page, Panel } from '@/parts/Page'
import { reload, reloadedSoon } from './Broken'
import { useLiveState } from './session'

/** Inside of the frame: loaded again as soon as the server answers. */
export function Lost() {
  const error = useRouteError()
  const { state } = useLiveState()
  const away = useRef(false)
  if (state === 'lost') away.current = true
  useEffect(() => {
    if (state === 'live' && (away.current || !reloadedSoon())) reload()
  }, [state])
  return (
    <Page title={state === 'live' ? t('That did not work') : t('The server cannot be reached')}>
      <Panel>
        <Failure error={state === 'live' ? error : new Unreachable(false)} untitled />
        <Button ml={42} mb="sm" variant="default" onClick={reload}>{t('Load the page again')}</Button>
      </Panel>
    </Page>
  )
}
