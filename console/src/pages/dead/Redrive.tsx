/** Run dead letters again: first how many, then for real, as fast as is said. */
import { Alert, Button, Group, NumberInput, Text } from '@mantine/core'
import { useState } from 'react'
import { call } from '@/api/client'
import type { DeadFilter } from '@/api/schema'
import { t, tn } from '@/i18n'
import { Dialog } from '@/parts/Dialog'
import { duration } from '@/parts/instant'
import { tell } from '@/parts/notify'
import { Failure } from '@/parts/Page'
import { useSending } from '@/parts/sending'

interface Props {
  filter: DeadFilter
  name: string
  count: number
  close: () => void
  done: () => Promise<unknown>
}

export function Redrive({ filter, name, count, close, done }: Props) {
  const [rate, setRate] = useState<number | string>('')
  const [counted, setCounted] = useState<number | null>(null)
  const { busy, error, send } = useSending()
  const body = { ...filter, rate: rate === '' ? null : Number(rate) }
  const dryRun = () => send(async () => setCounted((await call('POST /dead/redrive', { body: { ...body, dry_run: true } })).matched ?? count))
  const redrive = () => send(async () => {
    const { redriven } = await call('POST /dead/redrive', { body })
    tell(tn('{count} run is made again', '{count} runs are made again', redriven ?? 0))
    void done()
  }, close)
  const known = counted ?? count
  return (
    <Dialog opened onClose={close} title={<strong>{t('Redrive dead letters')}</strong>}>
      <Text fw={600} style={{ overflowWrap: 'anywhere' }}>{name}</Text>
      <Text c="dimmed" mt={4}>{tn('{count} run is made again, with its own payload and idempotency key.', '{count} runs are made again, with their own payloads and idempotency keys.', known)}</Text>
      <NumberInput mt="md" data-autofocus label={t('Runs per second')} description={rate !== '' && Number(rate) > 0 ? t('It takes {time}.', { time: duration(known / Number(rate)) }) : t('Empty: all at once.')} min={0.001} value={rate} onChange={setRate} />
      {counted !== null && <Alert mt="md">{tn('{count} dead letter matches now; nothing was done.', '{count} dead letters match now; nothing was done.', counted)}</Alert>}
      {error !== null && <Alert mt="md" color="red" p={0}><Failure error={error} /></Alert>}
      <Group justify="flex-end" mt="lg" gap="xs">
        <Button variant="default" onClick={close}>{t('Keep it as it is')}</Button>
        <Button variant="default" onClick={() => void dryRun()} disabled={busy}>{t('Dry run')}</Button>
        <Button loading={busy} onClick={() => void redrive()}>{tn('Redrive {count}', 'Redrive {count}', known)}</Button>
      </Group>
    </Dialog>
  )
}
