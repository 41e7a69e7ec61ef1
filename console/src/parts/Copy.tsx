import { ActionIcon, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { t } from '@/i18n'
import { tellFailure } from './notify'
import classes from './Copy.module.css'

/** Also without https, where browsers have no clipboard for scripts, and where a browser does not allow it. */
export async function copy(text: string): Promise<void> {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text)
      return
    } catch (error) {
      if (!(error instanceof DOMException)) throw error
    }
  }
  const focused = document.activeElement
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'hidden-label'
  document.body.append(area)
  area.select()
  const done = document.execCommand('copy')
  area.remove()
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true })
  if (!done) throw new Error(t('The browser did not allow it: select the text, and copy it yourself.'))
}

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const [done, setDone] = useState(false)
  useEffect(() => {
    if (!done) return
    const timer = setTimeout(() => setDone(false), 1500)
    return () => clearTimeout(timer)
  }, [done])
  const name = done ? t('Copied') : (label ?? t('Copy'))
  return (
    <Tooltip label={name}>
      <ActionIcon size="sm" aria-label={name} onClick={() => void copy(text).then(() => setDone(true)).catch(tellFailure)}>
        {done ? <IconCheck size={14} /> : <IconCopy size={14} />}
      </ActionIcon>
    </Tooltip>
  )
}

/** A command or a piece of code, with a button that copies it. */
export function Code({ children, label }: { children: string; label?: string }) {
  return (
    <div className={classes.code}>
      <pre tabIndex={0}>{children}</pre>
      <span className={classes.button}>
        <CopyButton text={children} {...(label ? { label } : {})} />
      </span>
    </div>
  )
}
