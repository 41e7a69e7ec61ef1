/** An error: what it says, and its traceback when it is opened. */
import { t } from '@/i18n'
import { Code } from './Copy'
import { toldBy } from './error'
import classes from './ErrorText.module.css'

export function ErrorText({ text, open = false, title = true }: { text: string; open?: boolean; title?: boolean }) {
  const told = toldBy(text)
  return (
    <div className={classes.error}>
      {title && <p>{told.title}</p>}
      {told.trace && (
        <details open={open}>
          <summary>{t('Traceback')}</summary>
          <Code>{told.trace}</Code>
        </details>
      )}
    </div>
  )
}
