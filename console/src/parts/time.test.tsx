/** Times go on by themselves, and are drawn again when their words change. */
import { MantineProvider } from '@mantine/core'
import { act, Profiler } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Time } from './Time'

let root: Root
let place: HTMLElement

beforeEach(() => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true)
  vi.useFakeTimers({ now: new Date('2026-11-18T12:00:10Z') })
  place = document.body.appendChild(document.createElement('div'))
  root = createRoot(place)
})

afterEach(() => {
  act(() => root.unmount())
  place.remove()
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

function show(at: string): () => number {
  const drawn = vi.fn()
  act(() => root.render(<MantineProvider><Profiler id="time" onRender={drawn}><Time at={at} /></Profiler></MantineProvider>))
  return () => drawn.mock.calls.length
}

const words = () => place.querySelector('time')?.textContent

it('goes on each second where seconds are told', () => {
  show('2026-11-18T12:00:05Z')
  expect(words()).toBe('5 sec ago')
  act(() => vi.advanceTimersByTime(3000))
  expect(words()).toBe('8 sec ago')
})

it('is drawn once in a minute where minutes are told', () => {
  const drawn = show('2026-11-18T11:30:05Z')
  const before = drawn()
  act(() => vi.advanceTimersByTime(50_000))
  expect(words()).toBe('30 min ago')
  expect(drawn()).toBe(before)
  act(() => vi.advanceTimersByTime(10_000))
  expect(words()).toBe('31 min ago')
  expect(drawn()).toBe(before + 1)
})

it('stops the clock when nothing shows it', () => {
  show('2026-11-18T12:00:05Z')
  act(() => root.render(null))
  expect(vi.getTimerCount()).toBe(0)
})
