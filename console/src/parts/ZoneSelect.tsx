/** A zone, found by city: “Munich” leads to Europe/Berlin. */
import { Select, type SelectProps } from '@mantine/core'
import { useState } from 'react'
import { t } from '@/i18n'
import { abbreviation } from './instant'
import { zonesFor } from './zones'

export function ZoneSelect({ value, onChange, ...rest }: { value: string | null; onChange: (zone: string | null) => void } & Omit<SelectProps, 'value' | 'onChange' | 'data'>) {
  const [text, setText] = useState(value ?? '')
  // What is chosen is written in the field: then all are offered, it first.
  const found = zonesFor(text === shown(value) ? '' : text)
  const all = value && !found.some((each) => each.zone === value) ? [{ zone: value, city: null }, ...found] : found
  return (
    <Select
      label={t('Time zone')}
      searchable
      // Enter takes what is marked, else the first that is found; it does not send the form.
      onKeyDown={(event) => {
        const first = found[0]
        if (event.key !== 'Enter' || text === shown(value) || !first) return
        event.preventDefault()
        if (document.querySelector('[data-combobox-selected]')) return
        onChange(first.zone)
        setText(shown(first.zone))
      }}
      clearable
      allowDeselect={false}
      placeholder={t('A city: Berlin, New York…')}
      nothingFoundMessage={t('No zone is called that')}
      data={all.map(({ zone }) => ({ value: zone, label: shown(zone) }))}
      searchValue={text}
      onSearchChange={setText}
      // Also if it is the one that was chosen before: what was typed is not its name.
      onOptionSubmit={(zone) => setText(shown(zone))}
      // The list is made for the text already.
      filter={({ options }) => (text === shown(value) ? options : options.filter((option) => 'value' in option && found.some((each) => each.zone === option.value)))}
      renderOption={({ option }) => {
        const city = all.find((each) => each.zone === option.value)?.city
        return (
          <span className="clip">
            {city ? <>{city} <span className="quiet">{option.label}</span></> : option.label} <small className="quiet">{abbreviation(option.value, new Date())}</small>
          </span>
        )
      }}
      value={value}
      onChange={onChange}
      rightSection={value ? <small className="quiet nowrap" style={{ paddingInlineEnd: 8 }}>{abbreviation(value, new Date())}</small> : undefined}
      // The sign that clears stands beside it.
      styles={{ section: { minWidth: 'max-content' } }}
      {...rest}
    />
  )
}

function shown(zone: string | null): string {
  return zone?.replaceAll('_', ' ') ?? ''
}
