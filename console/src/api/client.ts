/** The one way to the API: typed by the OpenAPI document, with the namespace, the token of the session and the reason. */
import { parseExact, writeExact } from './exact'
import type { Operations, Problem } from './schema'

export type Name = keyof Operations
type Of<N extends Name> = Operations[N]
type Part<N extends Name, K extends 'path' | 'query' | 'body'> = Of<N>[K] extends null ? object : { [P in K]: Of<N>[K] }
type OptionalPart<N extends Name, K extends 'query' | 'body'> = Of<N>[K] extends null ? object : { [P in K]?: Of<N>[K] }

export interface Extra {
  /** Why, for the audit. */
  reason?: string | undefined
  /** The revision that was seen: refused if it was changed since. */
  revision?: number | undefined
  idempotencyKey?: string
  signal?: AbortSignal | undefined
  namespace?: string
}
export type Options<N extends Name> = Part<N, 'path'> & OptionalPart<N, 'query'> & OptionalPart<N, 'body'> & Extra

export interface Paged<T> {
  items: T
  /** How many match in all, if the server says it. */
  total: number | null
  estimated: boolean
  /** Where the next page begins. */
  cursor: string | null
}

/** What the server refused, in its own words. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
  ) {
    super(problem.detail ?? problem.title ?? `The server answered ${status}`)
  }
  get code(): string {
    return this.problem.code ?? ''
  }
  get hint(): string | null {
    return this.problem.hint ?? null
  }
  get field(): string | null {
    return this.problem.field ?? null
  }
}

/** No answer came: the network or the server is away. */
export class Unreachable extends Error {}

/** An answer may be so old: many consoles ask the same when something has changed, and share the answer. */
const SHARED_SECONDS = 2
/** After a change of one's own answers are one's own for so long. */
const OWN_MS = 5000
let changedAt = -Infinity
/** Answers that came by the stream of events, by address, and when. */
const sent = new Map<string, { body: unknown; headers: Headers; at: number }>()

const session = { namespace: null as string | null, csrf: null as string | null }

export function setSession(change: { namespace?: string | null; csrf?: string | null }): void {
  if (change.namespace !== undefined && change.namespace !== session.namespace) sent.clear()
  Object.assign(session, change)
}

/** What an address answers now: those who ask within the next moment need not ask the server. */
export function keepSent(address: string, body: unknown, headers: Record<string, string>): void {
  sent.delete(address)
  sent.set(address, { body, headers: new Headers(headers), at: performance.now() })
  for (const [old, { at }] of sent) if (performance.now() - at > SHARED_SECONDS * 1000) sent.delete(old)
}

export async function call<N extends Name>(name: N, options: Options<N>): Promise<Of<N>['answer']> {
  return (await read(name, options)).body as Of<N>['answer']
}

/** As `call`, but numbers that JavaScript cannot hold stay exact: see `exact`. */
export async function callExact<N extends Name>(name: N, options: Options<N>): Promise<Of<N>['answer']> {
  const { text } = await send(name, options)
  return (text ? parseExact(text) : null) as unknown as Of<N>['answer']
}

/** For what must not be done twice: the same request with the same key gets the same answer. */
export function newKey(): string {
  return `${Date.now()}-${Math.random()}`
}

/** The answer, or `none` of a server that does not have the operation. */
export async function orNone<T>(answer: Promise<T>, none: T): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 405)) return none
    throw error
  }
}

export async function page<N extends Name>(name: N, options: Options<N>): Promise<Paged<Of<N>['answer']>> {
  const { body, headers } = await read(name, options)
  const total = headers.get('Sexton-Total')
  return {
    items: body as Of<N>['answer'],
    total: total === null ? null : Number(total),
    estimated: headers.get('Sexton-Total-Estimated') === 'true',
    cursor: cursorOf(headers.get('Link')),
  }
}

/** The `cursor` in the address of the next page. */
export function cursorOf(link: string | null): string | null {
  const next = /<([^>]*)>;\s*rel="next"/.exec(link ?? '')
  return next?.[1] ? new URL(next[1], 'http://here').searchParams.get('cursor') : null
}

export function address(name: string, path: Record<string, unknown> = {}, query: Record<string, unknown> = {}): string {
  const template = name.slice(name.indexOf(' ') + 1)
  const filled = template.replace(/\{(\w+)\}/g, (_, part: string) => encodeURIComponent(String(path[part])))
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '' && value !== false) search.set(key, String(value))
  }
  const text = search.toString()
  return `/api/v1${filled}${text ? `?${text}` : ''}`
}

export function headersOf(extra: Extra, method: string): Record<string, string> {
  const headers: Record<string, string> = {}
  const namespace = extra.namespace ?? session.namespace
  if (namespace) headers['Sexton-Namespace'] = namespace
  if (method !== 'GET' && session.csrf) headers['X-CSRF-Token'] = session.csrf
  if (method === 'GET' && sharing()) headers['Cache-Control'] = `max-age=${SHARED_SECONDS}`
  if (extra.reason) headers['Sexton-Reason'] = encodeURIComponent(extra.reason)
  if (extra.revision !== undefined) headers['If-Match'] = `"${extra.revision}"`
  if (extra.idempotencyKey) headers['Idempotency-Key'] = extra.idempotencyKey
  return headers
}

/** What the server has sent by itself a moment ago, or its answer. */
async function read<N extends Name>(name: N, options: Options<N>): Promise<{ body: unknown; headers: Headers }> {
  const given = options as { path?: Record<string, unknown>; query?: Record<string, unknown> } & Extra
  const known = name.startsWith('GET ') && sharing() && given.namespace === undefined ? sent.get(address(name, given.path, given.query)) : undefined
  if (known && performance.now() - known.at <= SHARED_SECONDS * 1000) return known
  const { text, headers } = await send(name, options)
  return { body: text ? JSON.parse(text) : null, headers }
}

/** Not where one has changed something oneself a moment ago. */
function sharing(): boolean {
  return performance.now() - changedAt > OWN_MS
}

async function send<N extends Name>(name: N, options: Options<N>): Promise<{ text: string; headers: Headers }> {
  const given = options as { path?: Record<string, unknown>; query?: Record<string, unknown>; body?: unknown } & Extra
  const method = name.slice(0, name.indexOf(' '))
  const headers = headersOf(given, method)
  let body: string | null = null
  if (given.body !== undefined) {
    headers['Content-Type'] = 'application/json'
    body = writeExact(given.body, 0)
  }
  let response: Response
  try {
    const request: RequestInit = { method, headers, body, credentials: 'same-origin', cache: 'no-store' }
    if (given.signal) request.signal = given.signal
    response = await fetch(address(name, given.path, given.query), request)
  } catch (error) {
    if (given.signal?.aborted) throw error
    throw new Unreachable('The server cannot be reached')
  }
  if (method !== 'GET') changedAt = performance.now()
  const text = await response.text()
  if (!response.ok) throw new ApiError(response.status, problemOf(text))
  return { text, headers: response.headers }
}

function problemOf(text: string): Partial<Problem> {
  try {
    return JSON.parse(text) as Partial<Problem>
  } catch {
    return { detail: text.slice(0, 300) }
  }
}
