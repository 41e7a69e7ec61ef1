/** Nothing here: what to do next, with a command to copy. */
import type { ReactNode } from 'react'
import { here } from './command'
import { Code } from './Copy'
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
