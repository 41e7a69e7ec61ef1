import { ActionIcon, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { t } from '@/i18n'
import classes from './Copy.module.css'

/** Also without https, where browsers have no clipboard for scripts. */
export async function copy(text: string): Promise<void> {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text)
    return
  }
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'hidden-label'
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
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
      <ActionIcon size="sm" aria-label={name} onClick={() => void copy(text).then(() => setDone(true))}>
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
