/**
 * What changes on the server, as it happens: one stream of server-sent events for the whole page.
 *
 * It is read with `fetch`, since `EventSource` can send no headers. Queries are marked as old by the kinds that an event
 * names, at most every two seconds each, and only while the page can be seen.
 *
 * What a query with `meta.follow` asks, an address, is not asked again: the server sends the answer when it has changed,
 * the same to all consoles that show it.
 */
import { focusManager, type InfiniteData, type Query, type QueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { ApiError, address, headersOf, keepSent } from './client'
import type { Overview } from './schema'

export type LiveState = 'connecting' | 'live' | 'paused' | 'lost' | 'off'
export interface Live {
  state: LiveState
  /** When something last came, on this browser's clock. */
  heardAt: number
  /** The server's clock minus this one's, in milliseconds. */
  skew: number
  /** When the connection was lost. */
  lostAt: number | null
  overview: Overview | null
}
export interface StreamEvent {
  name: string
  id: string | null
  data: string
}
export interface Changed {
  kinds: string[]
  job_ids?: string[]
  run_ids?: string[]
  more?: boolean
}
interface ListAnswer {
  address: string
  headers: Record<string, string>
  /** Null: it is too large to be sent, and is asked for. */
  answer: unknown
}

// A query that an event has marked as old waits this long before an event marks it again.
const REST_MS = 2000
// What is dear to work out rests longer where runs alone have changed: they do all the time.
const LONG_REST_MS: Record<string, number> = { calendar: 20_000, 'job-stats': 10_000, 'run-counts': 5000 }
// A list that was scrolled further is read again whole, so it rests longer by as much as it is longer.
const FEW_PAGES = 3
// After what is shown has changed, the stream is opened anew to follow it.
const SETTLE_MS = 300
const SILENCE_MS = 15_000
const LONGEST_WAIT_MS = 10_000
// The first part of a query's key, by what the server says has changed.
const QUERIES: Record<string, string[]> = {
  jobs: ['jobs', 'job', 'upcoming', 'calendar', 'search'],
  runs: ['runs', 'run', 'job-runs', 'run-counts', 'job-stats', 'job-why', 'calendar'],
  dead: ['dead', 'dead-groups'],
  queues: ['queues', 'backlog', 'workers'],
  cluster: ['cluster', 'workers'],
  content: ['content', 'calendar'],
  campaigns: ['campaigns', 'messages'],
}

type Listener = (event: StreamEvent) => void

export class LiveFeed {
  private live: Live = { state: 'connecting', heardAt: Date.now(), skew: 0, lostAt: null, overview: null }
  private readonly watchers = new Set<() => void>()
  private readonly listeners = new Set<Listener>()
  private readonly markedAt = new Map<string, number>()
  private readonly waiting = new Map<string, { at: number; timer: ReturnType<typeof setTimeout> }>()
  private stop: AbortController | null = null
  private lastId: string | null = null
  private focus: Record<string, string> = {}
  private followed: readonly string[] = []
  private settling: ReturnType<typeof setTimeout> | undefined
  private forget: (() => void) | null = null

  constructor(private readonly queries: QueryClient) {}

  readonly read = (): Live => this.live

  readonly watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher)
    return () => this.watchers.delete(watcher)
  }

  listen(listener: Listener): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Also tell what happens to this run or job. */
  look(focus: Record<string, string>): void {
    if (JSON.stringify(focus) === JSON.stringify(this.focus)) return
    this.focus = focus
    if (this.stop) this.open()
  }

  open(): void {
    focusManager.setFocused(undefined)
    this.forget ??= this.watchShown()
    this.followed = this.shown()
    this.stop?.abort()
    this.stop = new AbortController()
    void this.follow(this.stop.signal)
  }

  close(): void {
    this.stop?.abort()
    this.stop = null
    this.forget?.()
    this.forget = null
    clearTimeout(this.settling)
    for (const { timer } of this.waiting.values()) clearTimeout(timer)
    this.waiting.clear()
  }

  /** What is shown stays: as for a page that cannot be seen, queries are not repeated either. What a page opens, and what one does oneself, is read. */
  pause(): void {
    this.close()
    focusManager.setFocused(false)
    this.change({ state: 'paused' })
  }

  resume(): void {
    this.change({ state: 'connecting' })
    void this.queries.invalidateQueries()
    this.open()
  }

  /** The addresses that the queries of this page follow, if it can be seen. */
  private shown(): string[] {
    if (document.visibilityState !== 'visible') return []
    // What was refused is not followed: the server would refuse the stream, too.
    const active = this.queries.getQueryCache().findAll({ type: 'active', predicate: ({ state }) => state.status === 'success' })
    return [...new Set(active.flatMap((query) => followOf(query) ?? []))].sort()
  }

  private watchShown(): () => void {
    const settle = () => {
      clearTimeout(this.settling)
      this.settling = setTimeout(() => {
        if (this.stop && this.shown().join() !== this.followed.join()) this.open()
      }, SETTLE_MS)
    }
    const forget = this.queries.getQueryCache().subscribe(({ query }) => {
      if (followOf(query)) settle()
    })
    document.addEventListener('visibilitychange', settle)
    return () => {
      forget()
      document.removeEventListener('visibilitychange', settle)
    }
  }

  private async follow(signal: AbortSignal): Promise<void> {
    let wait = 500
    while (!signal.aborted) {
      try {
        await this.connect(signal, () => {
          wait = 500
        })
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof ApiError && [401, 403, 404].includes(error.status)) {
          this.change({ state: 'off' })
          // The session has ended. A page that follows all it shows asks nothing else, and would stay as it is.
          if (error.status === 401) void this.queries.invalidateQueries({ queryKey: ['session'] })
          return
        }
      }
      if (signal.aborted) return
      if (this.live.state !== 'lost') this.change({ state: 'lost', lostAt: Date.now() })
      await sleep(wait, signal)
      wait = Math.min(wait * 2, LONGEST_WAIT_MS)
    }
  }

  private async connect(signal: AbortSignal, connected: () => void): Promise<void> {
    // A connection that says nothing is as good as none.
    const silence = new AbortController()
    let timer = setTimeout(() => silence.abort(), SILENCE_MS)
    const headers = { ...headersOf({}, 'GET'), Accept: 'text/event-stream', ...(this.lastId ? { 'Last-Event-ID': this.lastId } : {}) }
    try {
      const response = await fetch(address('GET /events', {}, { ...this.focus, follow: this.followed.join() }), {
        headers,
        credentials: 'same-origin',
        cache: 'no-store',
        signal: AbortSignal.any([signal, silence.signal]),
      })
      if (!response.ok || !response.body) throw new ApiError(response.status, {})
      connected()
      const again = this.live.state === 'lost'
      this.change({ state: 'live', heardAt: Date.now(), lostAt: null })
      if (again) void this.queries.invalidateQueries()
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
      let rest = ''
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        clearTimeout(timer)
        timer = setTimeout(() => silence.abort(), SILENCE_MS)
        const [events, left] = readEvents(rest + value)
        rest = left
        for (const event of events) this.take(event)
      }
    } finally {
      clearTimeout(timer)
    }
  }

  private take(event: StreamEvent): void {
    if (event.id) this.lastId = event.id
    if (event.name === 'overview') this.change({ heardAt: Date.now(), overview: JSON.parse(event.data) as Overview })
    else if (event.name === 'heartbeat') {
      const { at } = JSON.parse(event.data) as { at: string }
      this.change({ heardAt: Date.now(), skew: new Date(at).getTime() - Date.now() })
    } else {
      this.change({ heardAt: Date.now() })
      if (event.name === 'answer') {
        const said = JSON.parse(event.data) as ListAnswer
        if (said.answer !== null) keepSent(said.address, said.answer, said.headers)
        for (const query of this.queries.getQueryCache().findAll({ predicate: (each) => followOf(each) === said.address })) {
          if (isLong(query)) this.later(String(query.queryKey[0]), REST_MS)
          else void this.queries.invalidateQueries({ queryKey: query.queryKey, exact: true, refetchType: this.refetchType() })
        }
      } else if (event.name === 'changed') {
        const changed = JSON.parse(event.data) as Changed
        this.mark(changed.kinds, this.jobsOf(changed))
      }
    }
    for (const listener of this.listeners) listener(event)
  }

  /** The list of jobs and the page of a job, if a job whose runs have changed is in it: a page of some among millions is read again for them only. */
  private jobsOf({ kinds, job_ids = [], more = false }: Changed): string[] {
    if (!kinds.includes('runs')) return []
    // More have changed than are named: any that is shown may be among them.
    if (more) return ['jobs', 'job']
    const wanted = new Set(job_ids)
    const listed = this.queries.getQueriesData<InfiniteData<{ items: { job_id?: string }[] }>>({ queryKey: ['jobs', 'list'] })
      .some(([, data]) => data?.pages.some((page) => page.items.some((job) => job.job_id !== undefined && wanted.has(job.job_id))))
    return [...(listed ? ['jobs'] : []), ...(wanted.has(this.focus['job'] ?? '') ? ['job'] : [])]
  }

  private mark(kinds: string[], more: string[]): void {
    const old = new Set([...kinds.filter((kind) => kind !== 'runs').flatMap((kind) => QUERIES[kind] ?? [kind]), ...more])
    for (const name of old) this.later(name, REST_MS)
    if (!kinds.includes('runs')) return
    for (const name of QUERIES['runs'] ?? []) if (!old.has(name)) this.later(name, LONG_REST_MS[name] ?? REST_MS)
  }

  private later(name: string, rest: number): void {
    const pages = this.queries.getQueryCache().findAll({ queryKey: [name], type: 'active' }).map(pagesOf)
    const at = Math.max(Date.now(), (this.markedAt.get(name) ?? 0) + rest * Math.max(1, ...pages.map((count) => count / FEW_PAGES)))
    const known = this.waiting.get(name)
    if (known && known.at <= at) return
    if (known) clearTimeout(known.timer)
    this.waiting.set(name, { at, timer: setTimeout(() => this.refresh(name), at - Date.now()) })
  }

  private refresh(name: string): void {
    this.waiting.delete(name)
    this.markedAt.set(name, Date.now())
    const predicate = (query: Query) => isLong(query) || !(query.isActive() && this.followed.includes(followOf(query) ?? ''))
    void this.queries.invalidateQueries({ queryKey: [name], predicate, refetchType: this.refetchType() })
  }

  private refetchType(): 'active' | 'none' {
    return document.visibilityState === 'visible' ? 'active' : 'none'
  }

  private change(change: Partial<Live>): void {
    this.live = { ...this.live, ...change }
    for (const watcher of this.watchers) watcher()
  }
}

export function useLive(feed: LiveFeed): Live {
  return useSyncExternalStore(feed.watch, feed.read)
}

/** The address that a query follows, as its `meta` says. */
function followOf(query: { meta?: Record<string, unknown> | undefined }): string | undefined {
  const found = query.meta?.['follow']
  return typeof found === 'string' ? found : undefined
}

/** The pages of a list that were loaded: each is asked for when the list is read again. */
function pagesOf({ state }: Query): number {
  return (state.data as Partial<InfiniteData<unknown>> | undefined)?.pages?.length ?? 1
}

function isLong(query: Query): boolean {
  return pagesOf(query) > FEW_PAGES
}

/** The whole events of a text, and what is left of the last one. */
export function readEvents(text: string): [StreamEvent[], string] {
  const parts = text.replaceAll('\r\n', '\n').split('\n\n')
  const left = parts.pop() ?? ''
  const events: StreamEvent[] = []
  for (const part of parts) {
    const event: StreamEvent = { name: 'message', id: null, data: '' }
    const data: string[] = []
    for (const line of part.split('\n')) {
      const colon = line.indexOf(':')
      if (colon <= 0) continue
      const value = line.slice(colon + 1).replace(/^ /, '')
      if (line.startsWith('event:')) event.name = value
      else if (line.startsWith('id:')) event.id = value
      else if (line.startsWith('data:')) data.push(value)
    }
    if (data.length) events.push({ ...event, data: data.join('\n') })
  }
  return [events, left]
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      // A server that is away for days is waited for thousands of times with one signal.
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal.addEventListener('abort', end)
  })
}
