/** The question before something is moved: from when to when, and what the server has against it. */
import { Button, Group } from '@mantine/core'
import { useState } from 'react'
import { t } from '@/i18n'
import { Dialog } from '../Dialog'
import { exactly, wallOf } from '../instant'
import { useSending } from '../sending'
import type { CalendarEvent } from './Calendar'
import { isConflict, Refusal } from './Refusal'
import { atOf, WallTime, type Wall } from './WallTime'

interface Props {
  event: CalendarEvent
  /** The new time on the wall clock of the zone; null: ask. */
  local: string | null
  zone: string
  close(): void
  /** `force`: though it contradicts other plans. */
  act(at: string, force: boolean): Promise<unknown>
}

export function Move({ event, local: first, zone, close, act }: Props) {
  const [wall, setWall] = useState<Wall>({ local: first ?? wallOf(new Date(event.at), zone), second: false })
  const { busy, error, clear, send: once } = useSending()
  const conflict = isConflict(error)
  const send = (force: boolean) => once(() => act(atOf(wall, zone), force), close)
  return (
    <Dialog opened onClose={close} title={<strong>{t('Move {name}', { name: event.title })}</strong>}>
      <form onSubmit={(submit) => { submit.preventDefault(); void send(false) }}>
        <p className="quiet">{t('from')} {exactly(new Date(event.at), zone)}</p>
        <div style={{ marginTop: 12 }}><WallTime label={t('New time')} zone={zone} focused value={wall} set={(chosen) => { setWall(chosen); clear() }} /></div>
        <Refusal error={error} />
        <Group justify="flex-end" mt="lg" gap="xs">
          <Button variant="default" type="button" onClick={close}>{t('Keep it as it is')}</Button>
          {conflict && <Button variant="default" onClick={() => void send(true)} loading={busy}>{t('Move it all the same')}</Button>}
          <Button type="submit" loading={busy}>{t('Move')}</Button>
        </Group>
      </form>
    </Dialog>
  )
}
