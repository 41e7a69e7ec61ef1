import { afterEach, describe, expect, it, vi } from 'vitest'
import { ApiError, Unreachable, address, call, cursorOf, page, setSession } from './client'

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

  it('reads how many there are and where the next page begins', async () => {
    vi.stubGlobal('fetch', () => answer(200, '[]', { 'Sexton-Total': '1200000', 'Sexton-Total-Estimated': 'true', Link: '</api/v1/jobs?cursor=j_9&limit=2>; rel="next"' }))
    expect(await page('GET /jobs', {})).toEqual({ items: [], total: 1_200_000, estimated: true, cursor: 'j_9' })
    expect(cursorOf(null)).toBeNull()
  })
})
