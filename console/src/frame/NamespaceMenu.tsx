import { Menu, ScrollArea, TextInput, UnstyledButton } from '@mantine/core'
import { IconCheck, IconSelector } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '@/api/client'
import { t } from '@/i18n'
import { EVERYWHERE, useSession } from './session'
import classes from './NamespaceMenu.module.css'

export function NamespaceMenu() {
  const session = useSession()
  const [open, setOpen] = useState(false)
  const [text, setText] = useState('')
  const all = useQuery({ queryKey: ['namespaces'], queryFn: () => call('GET /namespaces', {}), enabled: open && session.mayEverywhere('viewer') })
  const own = Object.keys(session.caller.roles).filter((name) => name !== EVERYWHERE)
  const names = [...new Set([session.namespace, ...own, ...(all.data ?? []).map((each) => each.name)])].sort()
  const shown = names.filter((name) => name.includes(text))
  return (
    <Menu position="bottom-start" width={240} opened={open} onChange={setOpen}>
      <Menu.Target>
        <UnstyledButton className={classes.button} aria-label={`${t('Namespace')}: ${session.namespace}`}>
          <span className={classes.name}>{session.namespace}</span>
          <IconSelector size={14} aria-hidden />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t('Namespace')}</Menu.Label>
        {names.length > 8 && <TextInput m={4} placeholder={t('Find')} aria-label={t('Find a namespace')} value={text} onChange={(event) => setText(event.currentTarget.value)} />}
        <ScrollArea.Autosize mah={320}>
          {shown.map((name) => (
            <Menu.Item
              key={name}
              rightSection={name === session.namespace ? <IconCheck size={14} /> : null}
              onClick={() => session.setNamespace(name)}
            >
              {name}
            </Menu.Item>
          ))}
        </ScrollArea.Autosize>
      </Menu.Dropdown>
    </Menu>
  )
}
