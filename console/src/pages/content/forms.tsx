import { ActionIcon, Alert, Button, Checkbox, Group, Select, TextInput } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { ApiError, call } from '@/api/client'
import type { Action } from '@/api/schema'
import { t } from '@/i18n'
import { Dialog } from '@/parts/Dialog'
import { browserZone } from '@/parts/instant'
import { tell } from '@/parts/notify'
import { Failure } from '@/parts/Page'
import { ZoneSelect } from '@/parts/ZoneSelect'
import classes from './Content.module.css'

/** What both forms have: the entity, the zone, a note, and a second try though it contradicts other plans. */
function Form({ title, close, children, act }: { title: string; close: () => void; children: ReactNode; act: (common: { entity_type: string; entity_id: string; timezone: string; note: string | null; needs_approval: boolean; force: boolean }) => Promise<string[]> }) {
  const queries = useQueryClient()
  const [type, setType] = useState('post')
  const [id, setId] = useState('')
  const [zone, setZone] = useState<string | null>(browserZone())
  const [note, setNote] = useState('')
  const [approval, setApproval] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const conflict = error instanceof ApiError && error.status === 409
  const send = async (force: boolean) => {
    setBusy(true)
    setError(null)
    try {
      const warnings = await act({ entity_type: type, entity_id: id, timezone: zone ?? 'UTC', note: note || null, needs_approval: approval, force })
      tell(warnings.length ? t('It is planned. As things are, it would fail: {why}', { why: warnings.join('; ') }) : t('It is planned'))
      close()
      await queries.invalidateQueries({ queryKey: ['content'] })
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog opened onClose={close} title={<strong>{title}</strong>} size="lg">
      <form onSubmit={(event) => { event.preventDefault(); void send(false) }}>
        <Group grow align="start">
          <TextInput label={t('Type')} required value={type} onChange={(event) => setType(event.currentTarget.value)} />
          <TextInput label={t('Entity')} required data-autofocus value={id} onChange={(event) => setId(event.currentTarget.value)} />
        </Group>
        {children}
        <ZoneSelect mt="sm" value={zone} onChange={setZone} />
        <TextInput mt="sm" label={t('Note')} value={note} onChange={(event) => setNote(event.currentTarget.value)} />
        <Checkbox mt="sm" label={t('It does not go out unless it was approved')} checked={approval} onChange={(event) => setApproval(event.currentTarget.checked)} />
        {error !== null && <Alert mt="md" color={conflict ? 'yellow' : 'red'} p={0}><Failure error={error} /></Alert>}
        <Group justify="flex-end" mt="lg" gap="xs">
          <Button variant="default" type="button" onClick={close}>{t('Close')}</Button>
          {conflict && <Button variant="default" loading={busy} onClick={() => void send(true)}>{t('Plan it all the same')}</Button>}
          <Button type="submit" loading={busy}>{t('Plan')}</Button>
        </Group>
      </form>
    </Dialog>
  )
}

export function PlanAction({ close }: { close: () => void }) {
  const [action, setAction] = useState<Action>('publish')
  const [local, setLocal] = useState('')
  return (
    <Form title={t('Plan an action')} close={close} act={(common) => call('POST /content/schedules', { body: { ...common, action, local_time: local } }).then((made) => made.warnings ?? [])}>
      <Group grow mt="sm" align="start">
        <Select label={t('Action')} allowDeselect={false} value={action} onChange={(value) => setAction((value ?? 'publish') as Action)} data={['publish', 'unpublish', 'archive'].map((value) => ({ value, label: t(value) }))} />
        <TextInput type="datetime-local" label={t('When')} required value={local} onChange={(event) => setLocal(event.currentTarget.value)} />
      </Group>
    </Form>
  )
}

export function PlanWindow({ close }: { close: () => void }) {
  const [starts, setStarts] = useState('')
  const [ends, setEnds] = useState('')
  return (
    <Form title={t('Plan a window')} close={close} act={(common) => call('POST /content/windows', { body: { ...common, starts, ends } }).then((made) => made.starts.warnings ?? [])}>
      <Group grow mt="sm" align="start">
        <TextInput type="datetime-local" label={t('Publish')} required value={starts} onChange={(event) => setStarts(event.currentTarget.value)} />
        <TextInput type="datetime-local" label={t('Unpublish')} required value={ends} onChange={(event) => setEnds(event.currentTarget.value)} />
      </Group>
    </Form>
  )
}

interface Item { entity_type: string; entity_id: string; action: Action }
const FIRST: Item = { entity_type: 'post', entity_id: '', action: 'publish' }

/** Several actions that go out together, or none of them. */
export function PlanRelease({ close }: { close: () => void }) {
  const queries = useQueryClient()
  const [items, setItems] = useState<Item[]>([FIRST, FIRST])
  const [local, setLocal] = useState('')
  const [zone, setZone] = useState<string | null>(browserZone())
  const [note, setNote] = useState('')
  const [approval, setApproval] = useState(false)
  const [goOn, setGoOn] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const conflict = error instanceof ApiError && error.status === 409
  const change = (place: number, part: Partial<Item>) => setItems(items.map((item, index) => (index === place ? { ...item, ...part } : item)))
  const send = async (force: boolean) => {
    setBusy(true)
    setError(null)
    try {
      const made = await call('POST /content/releases', {
        body: { items: items.filter((item) => item.entity_id), local_time: local, timezone: zone ?? 'UTC', note: note || null, needs_approval: approval, on_failure: goOn ? 'continue' : 'undo', force },
      })
      tell(t('{name} is planned', { name: made.note ?? made.release_id }))
      close()
      await queries.invalidateQueries({ queryKey: ['content'] })
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog opened onClose={close} title={<strong>{t('Plan a release')}</strong>} size="lg">
      <form onSubmit={(event) => { event.preventDefault(); void send(false) }}>
        <TextInput label={t('Note')} placeholder={t('What it is')} data-autofocus value={note} onChange={(event) => setNote(event.currentTarget.value)} />
        <Group grow mt="sm" align="start">
          <TextInput type="datetime-local" label={t('When')} required value={local} onChange={(event) => setLocal(event.currentTarget.value)} />
          <ZoneSelect value={zone} onChange={setZone} />
        </Group>
        <fieldset className={classes.items}>
          <legend>{t('Items')}</legend>
          {items.map((item, place) => (
            <div key={place} className={classes.item}>
              <TextInput aria-label={t('Type')} value={item.entity_type} onChange={(event) => change(place, { entity_type: event.currentTarget.value })} />
              <TextInput aria-label={t('Entity')} placeholder={t('Entity')} value={item.entity_id} onChange={(event) => change(place, { entity_id: event.currentTarget.value })} />
              <Select aria-label={t('Action')} allowDeselect={false} value={item.action} onChange={(value) => change(place, { action: (value ?? 'publish') as Action })} data={['publish', 'unpublish', 'archive'].map((value) => ({ value, label: t(value) }))} />
              <ActionIcon aria-label={t('Remove')} onClick={() => setItems(items.filter((_, index) => index !== place))} disabled={items.length === 1}><IconX size={14} /></ActionIcon>
            </div>
          ))}
          <Button variant="subtle" color="gray" leftSection={<IconPlus size={13} />} onClick={() => setItems([...items, { ...(items.at(-1) ?? FIRST), entity_id: '' }])}>{t('Add an item')}</Button>
        </fieldset>
        <Checkbox mt="sm" label={t('It does not go out unless it was approved')} checked={approval} onChange={(event) => setApproval(event.currentTarget.checked)} />
        <Checkbox mt="sm" label={t('If an item fails, the others go out all the same')} checked={goOn} onChange={(event) => setGoOn(event.currentTarget.checked)} />
        {error !== null && <Alert mt="md" color={conflict ? 'yellow' : 'red'} p={0}><Failure error={error} /></Alert>}
        <Group justify="flex-end" mt="lg" gap="xs">
          <Button variant="default" type="button" onClick={close}>{t('Close')}</Button>
          {conflict && <Button variant="default" loading={busy} onClick={() => void send(true)}>{t('Plan it all the same')}</Button>}
          <Button type="submit" loading={busy} disabled={!items.some((item) => item.entity_id)}>{t('Plan')}</Button>
        </Group>
      </form>
    </Dialog>
  )
}
