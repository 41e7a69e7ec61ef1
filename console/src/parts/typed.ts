import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useRef, useState } from 'react'

/**
 * A text field whose value is kept elsewhere, as in the address, where it arrives later. It is written there a moment after the
 * last key; what is typed meanwhile stays, and so does the cursor. What comes from there, as by the button Back, is shown.
 */
export function useTyped(value: string, set: (typed: string) => void, wait = 250): [text: string, type: (text: string) => void] {
  const [text, setText] = useState(value)
  // What this field has written: when that arrives here, more may have been typed.
  const written = useRef(value)
  const later = useDebouncedCallback((typed: string) => {
    written.current = typed
    set(typed)
  }, wait)
  useEffect(() => {
    if (value !== written.current) setText(value)
    written.current = value
  }, [value])
  const type = (typed: string) => {
    setText(typed)
    later(typed)
  }
  return [text, type]
}
