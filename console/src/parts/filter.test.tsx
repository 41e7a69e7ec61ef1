/** A text filter writes into the address a moment after one has typed; what was typed meanwhile stays. */
import { MantineProvider } from '@mantine/core'
import { act } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import { MemoryRouter, useNavigate, useSearchParams } from 'react-router'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { FilterBar } from './DataTable'

const FILTERS = [{ name: 'search', label: 'Name', kind: 'text' as const }]
let root: Root
let place: HTMLElement

beforeEach(() => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true)
  vi.useFakeTimers()
  place = document.body.appendChild(document.createElement('div'))
  root = createRoot(place)
})

afterEach(() => {
  act(() => root.unmount())
  place.remove()
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

function Shown({ go }: { go: (to: (path: string) => void) => void }) {
  const navigate = useNavigate()
  const [search] = useSearchParams()
  go((path) => void navigate(path))
  return <><FilterBar filters={FILTERS} /><output>{search.get('search')}</output></>
}

function field(): HTMLInputElement {
  return place.querySelector('input') as HTMLInputElement
}

function type(text: string): void {
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(field(), text)
  field().dispatchEvent(new Event('input', { bubbles: true }))
}

it('keeps what is typed while an earlier text arrives in the address', () => {
  let navigate: (path: string) => void = () => undefined
  act(() => root.render(<MantineProvider><MemoryRouter><Shown go={(to) => { navigate = to }} /></MemoryRouter></MantineProvider>))
  act(() => type('a'))
  act(() => {
    vi.advanceTimersByTime(250)
    type('ab')
  })
  expect(place.querySelector('output')?.textContent).toBe('a')
  expect(field().value).toBe('ab')
  act(() => { vi.advanceTimersByTime(250) })
  expect(place.querySelector('output')?.textContent).toBe('ab')
  act(() => navigate('/?search=other'))
  expect(field().value).toBe('other')
  act(() => navigate('/'))
  expect(field().value).toBe('')
})
