import { focusManager, InfiniteQueryObserver, QueryClient, QueryObserver } from '@tanstack/react-query'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { address, page } from './client'
import { LiveFeed, readEvents } from './live'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

const streamed = (...parts: string[]) =>
  new Response(new ReadableStream({ start(controller) { for (const part of parts) controller.enqueue(new TextEncoder().encode(part)) } }))

describe('server-sent events', () => {
  it('are read whole, whatever the pieces', () => {
    const [events, rest] = readEvents('id: 7\nevent: changed\ndata: {"kinds":["jobs"]}\n\n: ping\n\nevent: heart')
    expect(events).toEqual([{ id: '7', name: 'changed', data: '{"kinds":["jobs"]}' }])
    expect(rest).toBe('event: heart')
    expect(readEvents('data: a\r\ndata: b\r\n\r\n')[0][0]?.data).toBe('a\nb')
  })

  it('mark the queries that they concern as old, once for many', async () => {
    const queries = new QueryClient()
    const marked = vi.spyOn(queries, 'invalidateQueries')
    vi.stubGlobal('fetch', () => Promise.resolve(streamed('event: changed\ndata: {"kinds":["dead"]}\n\n', 'event: changed\ndata: {"kinds":["dead"]}\n\n')))
    const feed = new LiveFeed(queries)
    feed.open()
    await vi.waitFor(() => expect(marked).toHaveBeenCalledTimes(2))
    expect(marked.mock.calls.map(([filter]) => filter?.queryKey)).toEqual([['dead'], ['dead-groups']])
    expect(feed.read().state).toBe('live')
    feed.close()
  })

  it('that are refused because the session has ended make the page ask for its session, which leads to the sign-in', async () => {
    const queries = new QueryClient()
    const marked = vi.spyOn(queries, 'invalidateQueries')
    vi.stubGlobal('fetch', () => Promise.resolve(new Response('{}', { status: 401 })))
    const feed = new LiveFeed(queries)
    feed.open()
    await vi.waitFor(() => expect(marked.mock.calls.map(([filter]) => filter?.queryKey)).toEqual([['session']]))
    expect(feed.read().state).toBe('off')
    feed.close()
  })

  it('read a list of jobs again if it shows one whose runs have changed', async () => {
    const queries = new QueryClient()
    queries.setQueryData(['jobs', 'list', {}], { pages: [{ items: [{ job_id: 'j_7' }] }], pageParams: [null] })
    const marked = vi.spyOn(queries, 'invalidateQueries')
    const names = () => marked.mock.calls.map(([filter]) => filter?.queryKey?.[0])
    let changed: string = 'event: changed\ndata: {"kinds":["runs"],"job_ids":["j_8"]}\n\n'
    vi.stubGlobal('fetch', () => Promise.resolve(streamed(changed)))
    const feed = new LiveFeed(queries)
    feed.open()
    await vi.waitFor(() => expect(names()).toContain('runs'))
    expect(names()).not.toContain('jobs')
    expect(names()).not.toContain('job')
    feed.close()
    const page = new LiveFeed(queries)
    page.look({ job: 'j_8' })
    page.open()
    await vi.waitFor(() => expect(names()).toContain('job'))
    expect(names()).not.toContain('jobs')
    page.close()
    changed = 'event: changed\ndata: {"kinds":["runs"],"job_ids":["j_7"]}\n\n'
    const again = new LiveFeed(queries)
    again.open()
    await vi.waitFor(() => expect(names()).toContain('jobs'))
    again.close()
    marked.mockClear()
    changed = 'event: changed\ndata: {"kinds":["runs"],"job_ids":["j_8"],"more":true}\n\n'
    const cut = new LiveFeed(queries)
    cut.open()
    await vi.waitFor(() => expect(names()).toContain('jobs'))
    cut.close()
  })

  it('read a list again the less often the further it was scrolled', async () => {
    vi.useFakeTimers()
    let say = () => {}
    const changed = new TextEncoder().encode('event: changed\ndata: {"kinds":["dead"]}\n\n')
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(new ReadableStream({ start(controller) { say = () => controller.enqueue(changed) } }))))
    const queries = new QueryClient()
    let asked = 0
    const list = new InfiniteQueryObserver(queries, {
      queryKey: ['dead', 'list'],
      queryFn: () => Promise.resolve(++asked),
      initialPageParam: 0,
      getNextPageParam: () => 1,
      staleTime: Infinity,
      initialData: { pages: Array(12).fill(0), pageParams: Array(12).fill(0) },
    })
    const stop = list.subscribe(() => undefined)
    const feed = new LiveFeed(queries)
    feed.open()
    await vi.advanceTimersByTimeAsync(10)
    say()
    await vi.advanceTimersByTimeAsync(10)
    expect(asked).toBe(12)
    say()
    await vi.advanceTimersByTimeAsync(7000)
    expect(asked).toBe(12)
    await vi.advanceTimersByTimeAsync(2000)
    expect(asked).toBe(24)
    stop()
    feed.close()
  })

  it('goes on from the last one after the connection was lost', async () => {
    const asked: (string | undefined)[] = []
    vi.stubGlobal('fetch', (_: string, request: RequestInit) => {
      asked.push((request.headers as Record<string, string>)['Last-Event-ID'])
      return asked.length === 1 ? Promise.resolve(new Response('id: 41\nevent: heartbeat\ndata: {"at":"2026-11-18T05:00:00Z"}\n\n')) : Promise.resolve(streamed())
    })
    const feed = new LiveFeed(new QueryClient())
    const states: string[] = []
    feed.watch(() => states.push(feed.read().state))
    feed.open()
    await vi.waitFor(() => expect(asked).toEqual([undefined, '41']), { timeout: 5000 })
    expect(states).toContain('lost')
    feed.close()
  })

  it('leaves what is shown alone while it is paused, also what an event has marked before', async () => {
    const queries = new QueryClient()
    const marked = vi.spyOn(queries, 'invalidateQueries')
    vi.stubGlobal('fetch', () => Promise.resolve(streamed('event: changed\ndata: {"kinds":["jobs"]}\n\n', 'event: changed\ndata: {"kinds":["jobs"]}\n\n')))
    const feed = new LiveFeed(queries)
    feed.open()
    await vi.waitFor(() => expect(marked).toHaveBeenCalled())
    vi.useFakeTimers()
    feed.pause()
    marked.mockClear()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(marked).not.toHaveBeenCalled()
    expect([feed.read().state, focusManager.isFocused()]).toEqual(['paused', false])
    feed.resume()
    expect([marked.mock.calls.length, focusManager.isFocused()]).toEqual([1, true])
    feed.close()
  })

  it('brings the answers of what is shown, which then is not asked again', async () => {
    const queries = new QueryClient()
    const streams: string[] = []
    const asked: string[] = []
    const path = '/api/v1/runs?limit=100&status=a%2Cb'
    vi.stubGlobal('fetch', (to: string) => {
      if (!to.startsWith('/api/v1/events')) {
        asked.push(to)
        return Promise.resolve(new Response('[1]'))
      }
      streams.push(to)
      if (!to.includes('follow=')) return Promise.resolve(streamed())
      const said = JSON.stringify({ address: path, headers: { 'Sexton-Total': '7', Link: '</api/v1/runs?cursor=c>; rel="next"' }, answer: [2] })
      return Promise.resolve(streamed(`event: changed\ndata: {"kinds":["runs"]}\n\n`, `event: answer\ndata: ${said}\n\n`))
    })
    const feed = new LiveFeed(queries)
    feed.open()
    const list = new QueryObserver(queries, {
      queryKey: ['runs', 'list'],
      queryFn: () => page('GET /runs', { query: { limit: 100, status: 'a,b' } as never }),
      meta: { follow: address('GET /runs', {}, { limit: 100, status: 'a,b' }) },
    })
    const stop = list.subscribe(() => undefined)
    await vi.waitFor(() => expect(list.getCurrentResult().data).toEqual({ items: [2], total: 7, estimated: false, cursor: 'c' }), { timeout: 5000 })
    expect(asked).toEqual([path])
    expect(streams).toEqual(['/api/v1/events', `/api/v1/events?follow=${encodeURIComponent(path)}`])
    stop()
    await vi.waitFor(() => expect(streams.at(-1)).toBe('/api/v1/events'), { timeout: 5000 })
    feed.close()
  })

  it('asks for what is too large to be sent', async () => {
    const queries = new QueryClient()
    const path = '/api/v1/runs?limit=100'
    let asked = 0
    vi.stubGlobal('fetch', (to: string) => {
      if (!to.startsWith('/api/v1/events')) return Promise.resolve(new Response(`[${++asked}]`))
      if (!to.includes('follow=')) return Promise.resolve(streamed())
      return Promise.resolve(streamed(`event: answer\ndata: ${JSON.stringify({ address: path, headers: {}, answer: null })}\n\n`))
    })
    const feed = new LiveFeed(queries)
    feed.open()
    const list = new QueryObserver(queries, {
      queryKey: ['runs', 'list'],
      queryFn: () => page('GET /runs', { query: { limit: 100 } }),
      meta: { follow: address('GET /runs', {}, { limit: 100 }) },
    })
    const stop = list.subscribe(() => undefined)
    await vi.waitFor(() => expect(list.getCurrentResult().data?.items).toEqual([2]), { timeout: 5000 })
    stop()
    feed.close()
  })

  it('stops where the server has none', async () => {
    vi.stubGlobal('fetch', () => Promise.resolve(new Response('', { status: 404 })))
    const feed = new LiveFeed(new QueryClient())
    feed.open()
    await vi.waitFor(() => expect(feed.read().state).toBe('off'))
  })
})
