import { useState } from 'react'

/** What a form or a button sends: whether it is under way, and why the last try was refused. */
export function useSending() {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const sending = async (work: () => Promise<unknown>) => {
    setBusy(true)
    setError(null)
    try {
      await work()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return { busy, error, setError, sending }
}
