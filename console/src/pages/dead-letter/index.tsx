import { Alert, Button, Textarea } from '@mantine/core'
import { IconRefresh, IconTrash } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useNavigate, useParams } from 'react-router'
import { call, callExact } from '@/api/client'
import { writeExact } from '@/api/exact'
import type { DeadLetter } from '@/api/schema'
import { useSession } from '@/frame/session'
import { t, tn } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { ErrorText } from '@/parts/ErrorText'
import { errorAt, parsedAt } from '@/parts/field'
import { Json, masked, unmasked } from '@/parts/Json'
import { tell } from '@/parts/notify'
import { Columns, Facts, Failure, Page, PageOf, Panel, Stack } from '@/parts/Page'
import { useSending } from '@/parts/sending'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import classes from './DeadLetter.module.css'

export default function Letter() {
  const { run = '' } = useParams()
  const asked = useQuery({ queryKey: ['dead', run], queryFn: () => callExact('GET /dead/{run}', { path: { run } }) })
  return <PageOf query={asked} list={{ to: '/dead', name: t('Dead letters') }}>{(letter) => <Shown letter={letter} />}</PageOf>
}

function Shown({ letter }: { letter: DeadLetter }) {
  const session = useSession()
  const ask = useConfirm()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [payload, setPayload] = useState<string | null>(null)
  const { busy, error, send } = useSending()
  const path = { run: letter.run_id }
  // This letter itself is gone then.
  const refresh = () => void queries.invalidateQueries({ predicate: ({ queryKey: [name, id] }) => ['dead', 'dead-groups', 'overview'].includes(String(name)) && id !== letter.run_id })
  const redrive = () => send(async () => {
    const body = payload === null ? {} : { payload: unmasked('payload', parsedAt('payload', payload), letter.payload) }
    const made = await call('POST /dead/{run}/redrive', { path, body })
    tell(t('A new run was made'))
    refresh()
    void navigate(`/runs/${made.run_id}`)
  })
  const discard = () => ask({
    title: t('Discard a dead letter'),
    object: `${letter.job_name ?? letter.job_id} ${letter.run_id}`,
    effect: `${letter.attempt ? `${tn('It was tried {count} time', 'It was tried {count} times', letter.attempt)}. ` : ''}${t('It cannot be redriven any more; its run stays in the history as dead.')}`,
    verb: t('Discard'),
    destructive: true,
    reason: 'required',
    act: async (reason) => {
      await call('POST /dead/{run}/discard', { path, reason })
      tell(t('It was discarded'))
      refresh()
      void navigate('/dead')
    },
  })
  return (
    <Page
      title={letter.job_name ?? letter.job_id}
      mark={<><Status status="dead" label={t(letter.reason)} /><code className="quiet">{letter.run_id}</code></>}
      crumbs={[{ to: '/dead', name: t('Dead letters') }]}
      about={<>{t('died')} <Time at={letter.died_at} show="both" /></>}
      actions={session.may('operator') && (
        <>
          <Button leftSection={<IconRefresh size={14} />} loading={busy} onClick={() => void redrive()}>{payload === null ? t('Redrive') : t('Redrive with this payload')}</Button>
          <Button variant="default" leftSection={<IconTrash size={14} />} onClick={discard}>{t('Discard')}</Button>
        </>
      )}
    >
      {error !== null && !errorAt(error, 'payload') && <Alert color="red" p={0}><Failure error={error} /></Alert>}
      <Columns side>
        <Stack>
          <Panel title={t('What went wrong')}><ErrorText text={letter.error ?? t('nothing was told')} open /></Panel>
          <Panel
            title={t('Payload')}
            right={session.may('operator') && (payload === null ? <Button variant="subtle" onClick={() => setPayload(writeExact(masked(letter.payload ?? null)))}>{t('Edit')}</Button> : <Button variant="subtle" color="gray" onClick={() => setPayload(null)}>{t('As it was')}</Button>)}
          >
            {payload === null ? <Json value={letter.payload} /> : <Textarea autosize minRows={4} aria-label={t('Payload')} value={payload} onChange={(event) => setPayload(event.currentTarget.value)} error={errorAt(error, 'payload')} styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }} />}
          </Panel>
          <Panel title={tn('{count} try', '{count} tries', letter.attempts?.length ?? 0)} flush>
            {(letter.attempts ?? []).map((attempt, index) => (
              <div key={index} className={classes.attempt}>
                <p><strong>{t('Try {number}', { number: attempt.attempt })}</strong> <Status status={attempt.outcome} /> <Time at={attempt.started_at} show="both" seconds="ms" /></p>
                {attempt.error && <ErrorText text={attempt.error} title={attempt.error !== letter.error} />}
              </div>
            ))}
          </Panel>
        </Stack>
        <Panel title={t('Facts')}>
          <Facts
            items={[
              [t('Job'), <Link key="j" to={`/jobs/${letter.job_id}`} className="link">{letter.job_name ?? letter.job_id}</Link>],
              [t('Run'), <Link key="r" to={`/runs/${letter.run_id}`} className="link">{letter.run_id}</Link>],
              [t('Scheduled'), <Time key="s" at={letter.scheduled_at} show="both" />],
              [t('By'), t(letter.trigger)],
              [t('Queue'), letter.queue],
              [t('Handler'), letter.handler],
              [t('Idempotency key'), letter.idempotency_key],
              [t('Delivered'), letter.delivered_at ? <Time key="d" at={letter.delivered_at} /> : letter.delivery_error],
            ]}
          />
        </Panel>
      </Columns>
    </Page>
  )
}
