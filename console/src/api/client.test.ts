import { afterEach, describe, expect, it, vi } from 'vitest'
import { ApiError, Unreachable, address, call, cursorOf, file, headersOf, listed, page, setSession } from './client'

const answer = (status: number, body: string, headers: Record<string, string> = {}) => Promise.resolve(new Response(body, { status, headers }))

afterEach(() => {
  vi.unstubAllGlobals()
  setSession({ namespace: null, csrf: null })
})

describe('the client', () => {
  it('fills the address', () => {
    expect(address('GET /jobs/{job}', { job: 'team/report ü' }, { limit: 10, status: '', cursor: null, problem: false })).toBe('/api/v1/jobs/team%2Freport%20%C3%BC?limit=10')
  })

  it('sends the namespace, the token of the session, the reason and the revision', async () => {
    const fetched = vi.fn((_address: string, _request: RequestInit) => answer(200, '{}'))
    vi.stubGlobal('fetch', fetched)
    setSession({ namespace: 'billing', csrf: 'token' })
    await call('PATCH /jobs/{job}', { path: { job: 'j_1' }, body: { priority: 1 }, reason: 'weil ü', revision: 3 })
    const [path, request] = fetched.mock.calls[0] ?? []
    expect(path).toBe('/api/v1/jobs/j_1')
    expect(request?.headers).toMatchObject({ 'Sexton-Namespace': 'billing', 'X-CSRF-Token': 'token', 'Sexton-Reason': 'weil%20%C3%BC', 'If-Match': '"3"', 'Content-Type': 'application/json' })
    await call('GET /jobs', {})
    expect(fetched.mock.calls[1]?.[1].headers).not.toHaveProperty('X-CSRF-Token')
  })

  it('tells what the server refused in its own words', async () => {
    vi.stubGlobal('fetch', () => answer(422, JSON.stringify({ detail: 'the schedule is wrong', code: 'bad_schedule', field: 'schedule', hint: 'write 0 9 * * 1' })))
    const error = await call('GET /jobs', {}).catch((failure: unknown) => failure)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status: 422, message: 'the schedule is wrong', field: 'schedule', hint: 'write 0 9 * * 1', code: 'bad_schedule' })
  })

  it('tells a server that is away from one that refuses', async () => {
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('failed')))
    await expect(call('GET /jobs', {})).rejects.toBeInstanceOf(Unreachable)
  })

  it('takes an answer that breaks off for none, and knows whether something was to be changed', async () => {
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(new ReadableStream({ start: (controller) => controller.error(new TypeError('lost')) }))))
    expect(await call('GET /jobs', {}).catch((error: unknown) => error)).toMatchObject({ change: false })
    expect(await call('POST /preview', { query: { count: 1 }, body: { name: 'a', schedule: '@daily' } }).catch((error: unknown) => error)).toMatchObject({ change: false })
    expect(await call('POST /dead/discard', { body: { all: true, dry_run: true } }).catch((error: unknown) => error)).toMatchObject({ change: false })
    const refused = await call('POST /dead/discard', { body: { all: true } }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(Unreachable)
    expect(refused).toMatchObject({ change: true })
  })

  it('tells in words what was refused of a file', async () => {
    vi.stubGlobal('fetch', () => answer(422, JSON.stringify({ detail: 'there is no status x', hint: 'use active' })))
    await expect(file('/export/jobs', { format: 'csv' })).rejects.toMatchObject({ message: 'there is no status x', hint: 'use active' })
  })

  it('shares answers with others, unless something was changed here a moment ago', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    vi.setSystemTime(0)
    vi.stubGlobal('fetch', () => answer(200, '{}'))
    const shares = () => 'Cache-Control' in headersOf({}, 'GET')
    vi.advanceTimersByTime(60_000)
    await call('POST /preview', { query: { count: 1 }, body: { name: 'a', schedule: '@daily' } })
    expect(shares()).toBe(true)
    await call('POST /jobs/{job}/resume', { path: { job: 'j_1' } })
    expect(shares()).toBe(false)
    vi.advanceTimersByTime(5001)
    expect(shares()).toBe(true)
    vi.useRealTimers()
  })

  it('asks for a list as the address that it follows is written', async () => {
    const fetched = vi.fn((_address: string) => answer(200, '[]'))
    vi.stubGlobal('fetch', fetched)
    await listed('GET /runs', { limit: 100, status: 'dead' }, null, new AbortController().signal)
    expect(fetched.mock.calls[0]?.[0]).toBe(address('GET /runs', {}, { limit: 100, status: 'dead' }))
  })

  it('reads how many there are and where the next page begins', async () => {
    vi.stubGlobal('fetch', () => answer(200, '[]', { 'Sexton-Total': '1200000', 'Sexton-Total-Estimated': 'true', Link: '</api/v1/jobs?cursor=j_9&limit=2>; rel="next"' }))
    expect(await page('GET /jobs', {})).toEqual({ items: [], total: 1_200_000, estimated: true, cursor: 'j_9' })
    expect(cursorOf(null)).toBeNull()
  })
})
