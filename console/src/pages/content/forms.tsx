import { ActionIcon, Autocomplete, Button, Checkbox, Group, Select, TextInput, type AutocompleteProps } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconPlus, IconX } from '@tabler/icons-react'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { call, page } from '@/api/client'
import type { Action } from '@/api/schema'
import { said, t } from '@/i18n'
import { isConflict, Refusal } from '@/parts/calendar/Refusal'
import { atOf, NO_TIME, WallTime } from '@/parts/calendar/WallTime'
import { Dialog } from '@/parts/Dialog'
import { browserZone } from '@/parts/instant'
import { tell } from '@/parts/notify'
import { useSending } from '@/parts/sending'
import { ZoneSelect } from '@/parts/ZoneSelect'
import classes from './Content.module.css'

/** What both forms have: the entity, the zone, a note, and a second try though it contradicts other plans. */
function Form({ title, close, children, act }: { title: string; close: () => void; children: (zone: string) => ReactNode; act: (common: { entity_type: string; entity_id: string; timezone: string; note: string | null; needs_approval: boolean; force: boolean }) => Promise<string[]> }) {
  const queries = useQueryClient()
  const [type, setType] = useState('post')
  const [id, setId] = useState('')
  const [zone, setZone] = useState<string | null>(browserZone())
  const [note, setNote] = useState('')
  const [approval, setApproval] = useState(false)
  const { busy, error, send: once } = useSending()
  const conflict = isConflict(error)
  const send = (force: boolean) => once(async () => {
    const warnings = await act({ entity_type: type, entity_id: id, timezone: zone ?? 'UTC', note: note || null, needs_approval: approval, force })
    tell(warnings.length ? t('It is planned. As things are, it would fail: {why}', { why: warnings.map(said).join('; ') }) : t('It is planned'))
    void queries.invalidateQueries({ queryKey: ['content'] })
  }, close)
  return (
    <Dialog opened onClose={close} title={<strong>{title}</strong>} size="lg">
      <form onSubmit={(event) => { event.preventDefault(); void send(false) }}>
        <Group grow align="start">
          <TextInput label={t('Type')} required value={type} onChange={(event) => setType(event.currentTarget.value)} />
          <EntityId label={t('Entity')} required data-autofocus type={type} value={id} onChange={setId} />
        </Group>
        <ZoneSelect mt="sm" value={zone} onChange={setZone} />
        <div className={classes.times}>{children(zone ?? 'UTC')}</div>
        <TextInput mt="sm" label={t('Note')} value={note} onChange={(event) => setNote(event.currentTarget.value)} />
        <Checkbox mt="sm" label={t('It does not go out unless it was approved')} checked={approval} onChange={(event) => setApproval(event.currentTarget.checked)} />
        <Refusal error={error} />
        <Group justify="flex-end" mt="lg" gap="xs">
          <Button variant="default" type="button" onClick={close}>{t('Close')}</Button>
          {conflict && <Button variant="default" loading={busy} onClick={() => void send(true)}>{t('Plan it all the same')}</Button>}
          <Button type="submit" loading={busy}>{t('Plan')}</Button>
        </Group>
      </form>
    </Dialog>
  )
}

/** The id of an entity: those that are known are offered with their titles; one that an adapter knows is typed. */
function EntityId({ type, value, onChange, ...rest }: { type: string; value: string; onChange(id: string): void } & Omit<AutocompleteProps, 'type' | 'value' | 'onChange' | 'data'>) {
  const [wanted] = useDebouncedValue(JSON.stringify([type.trim(), value.trim()]), 200)
  const [entity_type, search] = JSON.parse(wanted) as [string, string]
  const found = useQuery({ queryKey: ['content', 'entities', 'choice', entity_type, search], queryFn: ({ signal }) => page('GET /content/entities', { query: { limit: 20, entity_type: entity_type || null, ...(search ? { search } : {}) }, signal }), placeholderData: keepPreviousData })
  const titles = new Map((found.data?.items ?? []).map((each) => [each.entity_id, each.title]))
  // The server has looked already.
  return <Autocomplete {...rest} value={value} onChange={onChange} data={[...titles.keys()]} filter={({ options }) => options} renderOption={({ option }) => <span className="clip">{option.value} <span className="quiet">{titles.get(option.value)}</span></span>} />
}

export function PlanAction({ close }: { close: () => void }) {
  const [action, setAction] = useState<Action>('publish')
  const [wall, setWall] = useState(NO_TIME)
  return (
    <Form title={t('Plan an action')} close={close} act={(common) => call('POST /content/schedules', { body: { ...common, action, at: atOf(wall, common.timezone) } }).then((made) => made.warnings ?? [])}>
      {(zone) => (
        <>
          <Select mt="sm" label={t('Action')} allowDeselect={false} value={action} onChange={(value) => setAction((value ?? 'publish') as Action)} data={ACTION_CHOICES()} />
          <WallTime label={t('When')} zone={zone} value={wall} set={setWall} />
        </>
      )}
    </Form>
  )
}

export function PlanWindow({ close }: { close: () => void }) {
  const [starts, setStarts] = useState('')
  const [ends, setEnds] = useState('')
  return (
    <Form title={t('Plan a window')} close={close} act={(common) => call('POST /content/windows', { body: { ...common, starts, ends, fold: 'first', gap: 'after' } }).then((made) => made.starts.warnings ?? [])}>
      {(zone) => (
        <>
          <TextInput type="datetime-local" label={t('Publish')} description={zone} required value={starts} onChange={(event) => setStarts(event.currentTarget.value)} />
          <TextInput type="datetime-local" label={t('Unpublish')} description={zone} required min={starts} value={ends} onChange={(event) => setEnds(event.currentTarget.value)} />
        </>
      )}
    </Form>
  )
}

const ACTION_CHOICES = () => ['publish', 'unpublish', 'archive'].map((value) => ({ value, label: t(value) }))

interface Item { entity_type: string; entity_id: string; action: Action }
export const FIRST: Item = { entity_type: 'post', entity_id: '', action: 'publish' }

/** One item of a release. */
export function ItemFields({ item, set }: { item: Item; set(item: Item): void }) {
  return (
    <div className={classes.itemFields}>
      <TextInput aria-label={t('Type')} required value={item.entity_type} onChange={(event) => set({ ...item, entity_type: event.currentTarget.value })} />
      <EntityId aria-label={t('Entity')} placeholder={t('Entity')} type={item.entity_type} value={item.entity_id} onChange={(entity_id) => set({ ...item, entity_id })} />
      <Select aria-label={t('Action')} allowDeselect={false} value={item.action} onChange={(value) => set({ ...item, action: (value ?? 'publish') as Action })} data={ACTION_CHOICES()} />
    </div>
  )
}

/** Several actions that go out together, or none of them. */
export function PlanRelease({ close }: { close: () => void }) {
  const queries = useQueryClient()
  const [items, setItems] = useState<Item[]>([FIRST, FIRST])
  const [wall, setWall] = useState(NO_TIME)
  const [zone, setZone] = useState<string | null>(browserZone())
  const [note, setNote] = useState('')
  const [approval, setApproval] = useState(false)
  const [goOn, setGoOn] = useState(false)
  const { busy, error, send: once } = useSending()
  const conflict = isConflict(error)
  const send = (force: boolean) => once(async () => {
    const made = await call('POST /content/releases', {
      body: { items: items.filter((item) => item.entity_id), at: atOf(wall, zone ?? 'UTC'), timezone: zone ?? 'UTC', note: note || null, needs_approval: approval, on_failure: goOn ? 'continue' : 'undo', force },
    })
    tell(t('{name} is planned', { name: made.note ?? made.release_id }))
    void queries.invalidateQueries({ queryKey: ['content'] })
  }, close)
  return (
    <Dialog opened onClose={close} title={<strong>{t('Plan a release')}</strong>} size="lg">
      <form onSubmit={(event) => { event.preventDefault(); void send(false) }}>
        <TextInput label={t('Note')} placeholder={t('What it is')} data-autofocus value={note} onChange={(event) => setNote(event.currentTarget.value)} />
        <div className={classes.times}>
          <ZoneSelect value={zone} onChange={setZone} />
          <WallTime label={t('When')} zone={zone ?? 'UTC'} value={wall} set={setWall} />
        </div>
        <fieldset className={classes.items}>
          <legend>{t('Items')}</legend>
          {items.map((item, place) => (
            <div key={place} className={classes.item}>
              <ItemFields item={item} set={(changed) => setItems(items.map((other, index) => (index === place ? changed : other)))} />
              <ActionIcon aria-label={t('Remove')} onClick={() => setItems(items.filter((_, index) => index !== place))} disabled={items.length === 1}><IconX size={14} /></ActionIcon>
            </div>
          ))}
          <Button variant="subtle" color="gray" leftSection={<IconPlus size={13} />} onClick={() => setItems([...items, { ...(items.at(-1) ?? FIRST), entity_id: '' }])}>{t('Add an item')}</Button>
        </fieldset>
        <Checkbox mt="sm" label={t('It does not go out unless it was approved')} checked={approval} onChange={(event) => setApproval(event.currentTarget.checked)} />
        <Checkbox mt="sm" label={t('If an item fails, the others go out all the same')} checked={goOn} onChange={(event) => setGoOn(event.currentTarget.checked)} />
        <Refusal error={error} />
        <Group justify="flex-end" mt="lg" gap="xs">
          <Button variant="default" type="button" onClick={close}>{t('Close')}</Button>
          {conflict && <Button variant="default" loading={busy} onClick={() => void send(true)}>{t('Plan it all the same')}</Button>}
          <Button type="submit" loading={busy} disabled={!items.some((item) => item.entity_id)}>{t('Plan')}</Button>
        </Group>
      </form>
    </Dialog>
  )
}
