/** The head of a page that needs no signing in. */
import { Anchor } from '@mantine/core'
import type { ReactNode } from 'react'
import icon from '@/icon.svg'
import { t } from '@/i18n'
import classes from './Guest.module.css'

export default function Guest({ children }: { children: ReactNode }) {
  return (
    <div className={classes.frame}>
      <header className={classes.top}>
        <a href="/" className={classes.brand}><img src={icon} alt="" width={22} height={22} />Sexton</a>
        <span className={classes.space} />
        <Anchor href="/">{t('Console')}</Anchor>
        <Anchor href="/docs">{t('API documentation')}</Anchor>
      </header>
      <main>{children}</main>
    </div>
  )
}
