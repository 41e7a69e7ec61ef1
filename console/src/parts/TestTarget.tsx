/** Carries a target out once, now, outside of any job: what it answers is shown, and kept nowhere. */
import { Button } from '@mantine/core'
import { useState } from 'react'
import { callExact } from '@/api/client'
import type { Trial, TrialRequest } from '@/api/schema'
import { t } from '@/i18n'
import { duration } from './instant'
import { Json } from './Json'
import { Failure } from './Page'
import { Status } from './Status'
import classes from './TestTarget.module.css'

/** `ask`: the target and its payload as they are when the button is pressed; what it throws is shown. */
export function TestTarget({ ask }: { ask(): TrialRequest }) {
  const [result, setResult] = useState<Trial | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const send = async () => {
    setBusy(true)
    setError(null)
    setResult(null)
    try {
      setResult(await callExact('POST /targets/test', { body: ask() }))
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <div className={classes.test}>
      <Button variant="default" loading={busy} onClick={() => void send()}>{t('Send a test')}</Button>
      <span aria-live="polite">
        {result && <><Status status={result.success ? 'success' : 'error'} label={result.success ? t('it would succeed') : t('it would fail')} /> {duration(result.seconds)} {result.error}</>}
      </span>
      {result && (result.log.length > 0 || result.result != null) && (
        <dl className={classes.answer}>
          {result.log.length > 0 && <><dt>{t('Log')}</dt><dd className="mono">{result.log.map((line, place) => <div key={place}>{line}</div>)}</dd></>}
          {result.result != null && <><dt>{t('Result')}</dt><dd><Json value={result.result} /></dd></>}
        </dl>
      )}
      {error !== null && <Failure error={error} />}
    </div>
  )
}
