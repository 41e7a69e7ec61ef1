/** Nothing here: what to do next, with a command to copy. */
import type { ReactNode } from 'react'
import { t } from '@/i18n'
import { here } from './command'
import { Code } from './Copy'
import { Panel } from './Page'
import classes from './Empty.module.css'

export function Empty({ title, children, command, action }: { title: string; children?: ReactNode; command?: string | undefined; action?: ReactNode }) {
  return (
    <div className={classes.empty}>
      <strong>{title}</strong>
      {children && <p>{children}</p>}
      {action}
      {command && (
        <div className={classes.command}>
          <Code>{here(command)}</Code>
        </div>
      )}
    </div>
  )
}

/** Instead of what the caller's role does not allow: who may do it. */
export function NotAllowed({ children }: { children: ReactNode }) {
  return <Panel><Empty title={t('Not allowed')}>{children}</Empty></Panel>
}
