/** A filter for one of many things: what matches is offered while one types. What was chosen stands in the address, and not each letter on the way there. */
import { Autocomplete } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'

export interface Choice {
  value: string
  /** What people call it, if that is something else. */
  label?: string | null
}
export type Find = (text: string, signal: AbortSignal) => Promise<Choice[]>

interface Props {
  name: string
  label: string
  width: number
  value: string
  set(value: string | null): void
  find: Find
}

export function FoundField({ name, label, width, value, set, find }: Props) {
  const [text, setText] = useState(value)
  const [open, setOpen] = useState(false)
  const [wanted] = useDebouncedValue(text.trim(), 200)
  const found = useQuery({ queryKey: ['choice', name, wanted], queryFn: ({ signal }) => find(wanted, signal), enabled: open, placeholderData: keepPreviousData })
  const choices = new Map((found.data ?? []).map((each) => [each.value, each.label]))
  useEffect(() => setText(value), [value])
  const take = (chosen: string) => {
    setText(chosen)
    set(chosen.trim() || null)
  }
  return (
    <Autocomplete
      aria-label={label}
      placeholder={label}
      leftSection={<IconSearch size={14} />}
      w={width}
      value={text}
      data={[...choices.keys()]}
      // The server has looked already.
      filter={({ options }) => options}
      renderOption={({ option }) => <span className="clip">{option.value} {choices.get(option.value) && <span className="quiet">{choices.get(option.value)}</span>}</span>}
      onChange={(typed) => {
        setText(typed)
        if (!typed) set(null)
      }}
      onOptionSubmit={take}
      dropdownOpened={open}
      onDropdownOpen={() => setOpen(true)}
      onDropdownClose={() => setOpen(false)}
      onBlur={() => setText(value)}
      onKeyDown={(event) => {
        // Without an option that the arrows have led to: the first one, or what was typed.
        if (event.key !== 'Enter' || event.currentTarget.getAttribute('aria-activedescendant')) return
        take(wanted === text.trim() ? ([...choices.keys()][0] ?? text) : text)
        setOpen(false)
      }}
    />
  )
}
