/** What a form or a button sends: once at a time, however often it is pressed. */
import { useEffect, useRef, useState } from 'react'
import { tellFailure } from './notify'

type Work = () => Promise<unknown>

/** Of a form in a dialog: what is refused is shown there. If it was closed meanwhile, it is told in the corner, and `close` closes nothing else. */
export function useSending(open = true): { busy: boolean; error: unknown; clear(): void; send(work: Work, close?: () => void): Promise<void> } {
  const [error, setError] = useState<unknown>(null)
  const shown = useRef(false)
  useEffect(() => {
    shown.current = open
    return () => {
      shown.current = false
    }
  }, [open])
  const [busy, once] = useOnce()
  const send = (work: Work, close?: () => void) =>
    once(async () => {
      const pressed = document.activeElement
      setError(null)
      try {
        await work()
      } catch (failure) {
        if (shown.current) setError(failure)
        else tellFailure(failure)
        focusAgain(pressed)
        return
      }
      if (shown.current) close?.()
    })
  return { busy, error, clear: () => setError(null), send }
}

/** Of a button: what is refused is told in the corner. */
export function useActing(): [busy: boolean, act: (work: Work) => Promise<void>] {
  const [busy, once] = useOnce()
  const act = (work: Work) =>
    once(async () => {
      const pressed = document.activeElement
      await work().catch(tellFailure)
      focusAgain(pressed)
    })
  return [busy, act]
}

/** A button that waits cannot have the focus, and what was done may have taken it away: then the keys go on from the page. */
function focusAgain(pressed: Element | null): void {
  // When it is drawn.
  setTimeout(() => {
    if (document.activeElement !== document.body) return
    const known = pressed?.isConnected ? pressed : document.getElementById('content')
    if (known instanceof HTMLElement) known.focus({ preventScroll: true })
  }, 20)
}

function useOnce(): [busy: boolean, once: (work: Work) => Promise<void>] {
  const [busy, setBusy] = useState(false)
  const going = useRef(false)
  const once = async (work: Work) => {
    if (going.current) return
    going.current = true
    setBusy(true)
    try {
      await work()
    } finally {
      going.current = false
      setBusy(false)
    }
  }
  return [busy, once]
}
