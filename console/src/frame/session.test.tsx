/** A server that is away for a while takes no page away; one that refuses does. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { act } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { SessionProvider } from './session'

const CALLER = { name: 'kim', method: 'owner', roles: { '*': 'admin' }, csrf_token: null, session_id: null }
let root: Root
let place: HTMLElement
let queries: QueryClient
let status: number

beforeEach(async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true)
  vi.useFakeTimers()
  status = 200
  vi.stubGlobal('fetch', (to: string) => (to.startsWith('/api/v1/events') ? new Promise(() => undefined) : Promise.resolve(Response.json(status === 200 ? CALLER : { detail: 'no' }, { status }))))
  place = document.body.appendChild(document.createElement('div'))
  root = createRoot(place)
  queries = new QueryClient()
})

afterEach(() => {
  act(() => root.unmount())
  place.remove()
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

async function shown(): Promise<string | null> {
  await act(() => vi.advanceTimersByTimeAsync(120_000))
  return place.textContent
}

function open(): void {
  act(() => root.render(<QueryClientProvider client={queries}><SessionProvider waiting="waiting" failed={(error) => `failed: ${String(error)}`}>the page</SessionProvider></QueryClientProvider>))
}

it('stays where it is while the server is away', async () => {
  open()
  expect(await shown()).toBe('the page')
  status = 503
  await act(async () => void queries.invalidateQueries({ queryKey: ['session'] }))
  expect(await shown()).toBe('the page')
  status = 403
  await act(async () => void queries.invalidateQueries({ queryKey: ['session'] }))
  expect(await shown()).toBe('failed: Error: no')
})

it('opens when the server has come back', async () => {
  status = 503
  open()
  expect(await shown()).toBe('failed: Error: no')
  status = 200
  expect(await shown()).toBe('the page')
})
