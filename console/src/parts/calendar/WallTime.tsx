/** A time on the wall clock of a zone, with the instant that it means: where clocks change it may mean two, or none. */
import { Select, TextInput } from '@mantine/core'
import { t } from '@/i18n'
import { exactly } from '../instant'
import { instantOf, instantsOf } from './days'
import classes from './WallTime.module.css'

export interface Wall {
  local: string
  /** Of a time that happens twice, the second one. */
  second: boolean
}

export const NO_TIME: Wall = { local: '', second: false }

export function atOf({ local, second }: Wall, zone: string): string {
  return (second ? instantsOf(local, zone)[1] : undefined) ?? instantOf(local, zone)
}

export function WallTime({ label, zone, value, set, focused = false }: { label: string; zone: string; value: Wall; set(value: Wall): void; focused?: boolean }) {
  const found = value.local ? instantsOf(value.local, zone) : []
  return (
    <div>
      <TextInput type="datetime-local" label={label} description={zone} required {...(focused ? { 'data-autofocus': true } : {})} value={value.local} onChange={(event) => set({ local: event.currentTarget.value, second: false })} />
      {value.local && (
        <div className={classes.meant} aria-live="polite">
          {found.length === 2
            ? <Select label={t('Clocks are put back: this time happens twice')} allowDeselect={false} value={value.second ? '1' : '0'} onChange={(chosen) => set({ ...value, second: chosen === '1' })} data={found.map((at, place) => ({ value: String(place), label: exactly(new Date(at), zone) }))} />
            : <p>{exactly(new Date(instantOf(value.local, zone)), zone)}</p>}
          {found.length === 0 && <p className="warn">{t('Clocks are put forward: this time does not exist, and the first one after it is taken.')}</p>}
        </div>
      )}
    </div>
  )
}
