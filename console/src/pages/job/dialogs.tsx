import { Alert, Button, Group, NumberInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call, newKey } from '@/api/client'
import type { Backfill as Backfilled, JobView } from '@/api/schema'
import { useZones } from '@/frame/session'
import { said, t, tn } from '@/i18n'
import { instantOf } from '@/parts/calendar/days'
import { Dialog } from '@/parts/Dialog'
import { FormDialog } from '@/parts/FormDialog'
import { inZones, validZone } from '@/parts/instant'
import { Failure } from '@/parts/Page'
import { tell, tellUndo } from '@/parts/notify'
import { useSending } from '@/parts/sending'
import { Time, useNow } from '@/parts/Time'

interface Props {
  job: JobView
  close: () => void
  done: () => unknown
}

/** A time on the wall clock of the job as an instant. */
function instant(local: string, job: JobView): string | null {
  return local ? instantOf(local, validZone(job.timezone)) : null
}

export function PauseUntil({ job, close, done }: Props) {
  const [until, setUntil] = useState('')
  const [reason, setReason] = useState('')
  const save = async () => {
    await call('POST /jobs/{job}/pause', { path: { job: job.job_id }, body: { reason: reason || null, until: instant(until, job) }, reason: reason || undefined })
    tellUndo(t('{name} is paused', { name: job.name }), async () => { await call('POST /jobs/{job}/resume', { path: { job: job.job_id } }); await done() })
    void done()
  }
  return (
    <FormDialog title={t('Pause {name}', { name: job.name })} verb={t('Pause')} fields={['reason', 'until']} close={close} save={save}>
      {(error) => (
        <>
          <p className="quiet">{t('Nothing fires until it is resumed; what falls due meanwhile is recorded as paused. Runs that have fired go on.')}</p>
          <TextInput mt="md" label={t('Reason')} description={t('Shown with the job.')} value={reason} onChange={(event) => setReason(event.currentTarget.value)} data-autofocus error={error('reason')} />
          <TextInput mt="sm" type="datetime-local" label={t('Until (optional)')} description={t('It goes on by itself then. On the clock of {zone}.', { zone: validZone(job.timezone) })} value={until} onChange={(event) => setUntil(event.currentTarget.value)} error={error('until')} />
        </>
      )}
    </FormDialog>
  )
}

/** First what would run, then the same for real. */
export function Backfill({ job, close, done }: Props) {
  const now = useNow()
  const zones = useZones(job.timezone)
  const [start, setStart] = useState('')
  const [end, setEnd] = useState('')
  const [rate, setRate] = useState<number | string>('')
  // If the answer is lost, sending the same once more makes no second runs.
  const [preview, setPreview] = useState<(Backfilled & { key: string }) | null>(null)
  const { busy, error, send } = useSending()
  const ask = (dry_run: boolean, key?: string) =>
    call('POST /jobs/{job}/backfill', { path: { job: job.job_id }, body: { start: instant(start, job) ?? '', end: instant(end, job) ?? '', dry_run, rate: rate === '' ? null : Number(rate) }, ...(key && { idempotencyKey: key }) })
  const look = () => send(async () => setPreview({ ...(await ask(true)), key: newKey() }))
  const run = (key: string) => send(async () => {
    const { run_ids } = await ask(false, key)
    tell(tn('{count} run was made', '{count} runs were made', run_ids.length))
    void done()
  }, close)
  const changed = (set: (value: string) => void) => (event: { currentTarget: { value: string } }) => {
    set(event.currentTarget.value)
    setPreview(null)
  }
  return (
    <Dialog opened onClose={close} title={<strong>{t('Backfill {name}', { name: job.name })}</strong>} size="lg">
      <form onSubmit={(event) => { event.preventDefault(); void (preview ? run(preview.key) : look()) }}>
        <p className="quiet">{t('Runs the occurrences of a range in the past, with the lowest priority and their own idempotency keys. On the clock of {zone}.', { zone: validZone(job.timezone) })}</p>
        <Group grow mt="md" align="start">
          <TextInput type="datetime-local" label={t('From')} required value={start} onChange={changed(setStart)} data-autofocus />
          <TextInput type="datetime-local" label={t('To')} required value={end} onChange={changed(setEnd)} />
          <NumberInput label={t('Runs per second')} placeholder={t('all at once')} min={0.001} value={rate} onChange={(value) => { setRate(value); setPreview(null) }} />
        </Group>
        {preview && (
          <Alert mt="md" title={tn('{count} occurrence would run', '{count} occurrences would run', preview.scheduled_at.length)}>
            {preview.scheduled_at.slice(0, 8).map((at) => <div key={at} className="num">{inZones(new Date(at), zones, now)} <span className="quiet">· <Time at={at} zone={job.timezone} /></span></div>)}
            {preview.scheduled_at.length > 8 && <div>…</div>}
            {preview.left_out.length > 0 && <div className="quiet">{tn('{count} is left out: it has run or is excluded', '{count} are left out: they have run or are excluded', preview.left_out.length)}</div>}
            {preview.warnings.map((warning) => <div key={warning} className="warn">{said(warning)}</div>)}
          </Alert>
        )}
        {error !== null && <Alert mt="md" color="red" p={0}><Failure error={error} /></Alert>}
        <Group justify="flex-end" mt="lg" gap="xs">
          <Button variant="default" type="button" onClick={close}>{t('Close')}</Button>
          <Button type="submit" loading={busy} disabled={preview !== null && preview.scheduled_at.length === 0}>
            {preview ? tn('Run {count} occurrence', 'Run {count} occurrences', preview.scheduled_at.length) : t('See what would run')}
          </Button>
        </Group>
      </form>
    </Dialog>
  )
}
