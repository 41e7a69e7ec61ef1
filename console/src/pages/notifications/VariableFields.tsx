/** The variables that the texts use, with what they are if nothing is given, and a sample for previews and tests. */
import { ActionIcon, Button, Select, TextInput } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import { t } from '@/i18n'
import { TYPES, type Type, type Variable } from './variables'
import classes from './Notifications.module.css'

export function VariableFields({ rows, set, may }: { rows: Variable[]; set(rows: Variable[]): void; may: boolean }) {
  const change = (place: number, part: Partial<Variable>) => set(rows.map((row, index) => (index === place ? { ...row, ...part } : row)))
  return (
    <fieldset className={classes.variables}>
      <legend>{t('Variables')}</legend>
      {rows.length > 0 && <div className={classes.variableHead} aria-hidden><span>{t('Name')}</span><span>{t('Kind')}</span><span>{t('If nothing is given')}</span><span>{t('Sample')}</span></div>}
      {rows.map((row, place) => (
        <div key={place} className={classes.variableRow}>
          <TextInput aria-label={t('Name')} placeholder="name" readOnly={!may} value={row.name} onChange={(event) => change(place, { name: event.currentTarget.value })} />
          <Select aria-label={t('Kind')} allowDeselect={false} readOnly={!may} value={row.type} onChange={(value) => change(place, { type: (value ?? 'any') as Type })} data={[...TYPES]} />
          <TextInput className={classes.usual ?? ''} aria-label={t('If nothing is given')} placeholder="–" readOnly={!may} value={row.default} onChange={(event) => change(place, { default: event.currentTarget.value })} />
          <TextInput className={classes.sample ?? ''} aria-label={t('Sample')} placeholder="–" readOnly={!may} value={row.sample} onChange={(event) => change(place, { sample: event.currentTarget.value })} />
          {may && <ActionIcon aria-label={t('Remove')} onClick={() => set(rows.filter((_, index) => index !== place))}><IconX size={14} /></ActionIcon>}
        </div>
      ))}
      {may && <Button variant="subtle" color="gray" leftSection={<IconPlus size={13} />} onClick={() => set([...rows, { name: '', type: 'string', default: '', sample: '', rest: {} }])}>{t('Add a variable')}</Button>}
      <p className="quiet">
        {t('Write {{ name }} where a value stands.')} {t('Instants are shown in the zone of the recipient:')} <code>{'{{ when|datetime("short") }}'}</code>
      </p>
    </fieldset>
  )
}
