/** A zone, found by city. The browser knows the names; the server's own list comes on top of them if it has one. */
import { Select, type SelectProps } from '@mantine/core'
import { t } from '@/i18n'
import { abbreviation, browserZone } from './instant'

let names: string[] | null = null

function zones(): string[] {
  names ??= [...new Set(['UTC', browserZone(), ...Intl.supportedValuesOf('timeZone')])]
  return names
}

export function ZoneSelect({ value, onChange, ...rest }: { value: string | null; onChange: (zone: string | null) => void } & Omit<SelectProps, 'value' | 'onChange' | 'data'>) {
  const all = value && !zones().includes(value) ? [value, ...zones()] : zones()
  return (
    <Select
      label={t('Time zone')}
      searchable
      clearable
      limit={50}
      placeholder={t('A city: Berlin, New York…')}
      nothingFoundMessage={t('No zone is called that')}
      data={all.map((zone) => ({ value: zone, label: zone.replaceAll('_', ' ') }))}
      value={value}
      onChange={onChange}
      rightSection={value ? <small className="quiet">{abbreviation(value, new Date())}</small> : undefined}
      rightSectionWidth={value ? 64 : undefined}
      {...rest}
    />
  )
}
