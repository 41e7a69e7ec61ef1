/** What goes out together: added and removed as long as it has not begun. */
import { Button } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { call } from '@/api/client'
import type { ReleaseView } from '@/api/schema'
import { useSession } from '@/frame/session'
import { t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { FormDialog } from '@/parts/FormDialog'
import { tellUndo } from '@/parts/notify'
import { Panel } from '@/parts/Page'
import { Status } from '@/parts/Status'
import tables from '../queues/Queues.module.css'
import { nameOf } from './Board'
import { FIRST, ItemFields } from './forms'

type Item = ReleaseView['items'][number]

/** Without those that were removed, which are kept as cancelled. */
export function itemsOf({ status, items }: Pick<ReleaseView, 'status' | 'items'>): Item[] {
  return status === 'cancelled' ? items : items.filter((item) => item.status !== 'cancelled')
}

export function Items({ release }: { release: ReleaseView }) {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  const [adding, setAdding] = useState(false)
  const items = itemsOf(release)
  const may = session.may('editor') && release.status === 'pending'
  const path = { release: release.release_id }
  const add = async (items: Pick<Item, 'entity_type' | 'entity_id' | 'action' | 'version'>[]) => {
    await call('POST /content/releases/{release}/items', { path, body: { items: items.map(({ entity_type, entity_id, action, version }) => ({ entity_type, entity_id, action, version: version ?? null })) } })
    await queries.invalidateQueries({ queryKey: ['content'] })
  }
  const remove = (item: Item) => ask({
    title: t('Remove an item'), object: nameOf(item), effect: `${tn('{count} item is left', '{count} items are left', items.length - 1)}. ${approval(release)}`, verb: t('Remove'), destructive: true, undoable: true,
    act: async (reason) => {
      await call('DELETE /content/releases/{release}/items/{schedule}', { path: { ...path, schedule: item.schedule_id }, reason })
      tellUndo(t('{name} is removed', { name: nameOf(item) }), () => add([item]))
      await queries.invalidateQueries({ queryKey: ['content'] })
    },
  })
  return (
    <Panel title={tn('{count} item', '{count} items', items.length)} right={may && <Button variant="subtle" color="gray" leftSection={<IconPlus size={13} />} onClick={() => setAdding(true)}>{t('Add an item')}</Button>} flush>
      <div className={tables.scroll} tabIndex={0} role="group" aria-label={t('Items')}><table className={tables.table}>
        <thead><tr><th scope="col">{t('Entity')}</th><th scope="col">{t('Action')}</th><th scope="col">{t('Version')}</th><th scope="col">{t('State')}</th><th scope="col">{may ? <span className="hidden-label">{t('Actions')}</span> : t('Result')}</th></tr></thead>
        <tbody>{items.map((item) => (
          <tr key={item.schedule_id}>
            <td><Link to={`/content/entities/${encodeURIComponent(item.entity_type)}/${encodeURIComponent(item.entity_id)}`} className="link">{nameOf(item)}</Link>{item.title && <div className="quiet">{item.content_id}</div>}</td>
            <td>{t(item.action)}</td>
            <td>{item.version ?? t('the latest')}</td>
            <td><Status status={item.status} /></td>
            <td data-right={may || undefined}>{may ? <Button variant="subtle" color="red" disabled={items.length === 1} onClick={() => remove(item)}>{t('Remove')}</Button> : item.error ? <span className="bad">{item.error}</span> : item.result}</td>
          </tr>
        ))}</tbody>
      </table></div>
      {adding && <AddItem release={release} close={() => setAdding(false)} add={add} />}
    </Panel>
  )
}

function AddItem({ release, close, add }: { release: ReleaseView; close(): void; add(items: { entity_type: string; entity_id: string; action: Item['action']; version: null }[]): Promise<void> }) {
  const [item, setItem] = useState(FIRST)
  return (
    <FormDialog title={t('Add an item')} verb={t('Add')} close={close} save={() => add([{ ...item, version: null }])}>
      <ItemFields item={item} set={setItem} />
      <p className="quiet" style={{ marginTop: 10 }}>{approval(release)}</p>
    </FormDialog>
  )
}

function approval(release: ReleaseView): string {
  return release.approved_by ? t('It has to be approved again.') : ''
}
