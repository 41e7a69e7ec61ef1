import { Button } from '@mantine/core'
import { Link } from 'react-router'
import { t } from '@/i18n'
import { Empty } from '@/parts/Empty'
import { Page } from '@/parts/Page'

export default function Missing() {
  return (
    <Page title={t('There is no such page')}>
      <Empty title={location.pathname} action={<Button component={Link} to="/">{t('Overview')}</Button>}>{t('It may have been moved. The search finds jobs, runs and pages: press /.')}</Empty>
    </Page>
  )
}
