/** The one way to the API: typed by the OpenAPI document, with the namespace, the token of the session and the reason. */
import { t } from '@/i18n'
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
    super(problem.detail ?? problem.title ?? t('The server answered {status}', { status }))
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
export class Unreachable extends Error {
  /** `change`: something was to be changed, and it is not known whether it was. */
  constructor(readonly change: boolean) {
    super('The server cannot be reached')
  }
}

/** What the server refuses it refuses again; what did not arrive, or broke there, may be asked for again. */
export function isRefused(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500
}

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

/** A page of a list by the filters in the address. These are texts, which the server reads and checks. */
export function listed<N extends Name>(name: N, filters: Record<string, unknown>, cursor: string | null, signal: AbortSignal): Promise<Paged<Of<N>['answer']>> {
  // In the order of the address that a list follows: see `live`.
  return page(name, { query: { limit: 100, ...filters, cursor }, signal } as unknown as Options<N>)
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
  const request: Sent = { method, headers, body, signal: given.signal, change: method !== 'GET' && !onlyAsks(name, given.body) }
  const response = await answerOf(address(name, given.path, given.query), request)
  return { text: await arrived(response.text(), request), headers: response.headers }
}

/** A file, with the headers of the API. */
export async function file(path: string, query: Record<string, unknown>): Promise<Blob> {
  const request: Sent = { method: 'GET', headers: headersOf({}, 'GET'), body: null, signal: undefined, change: false }
  const response = await answerOf(address(`GET ${path}`, {}, query), request)
  return arrived(response.blob(), request)
}

interface Sent {
  method: string
  headers: Record<string, string>
  body: string | null
  signal: AbortSignal | undefined
  change: boolean
}

/** What changes nothing though it is posted: how something would be. */
function onlyAsks(name: string, body: unknown): boolean {
  return /\/(preview|explain)$/.test(name) || (body as { dry_run?: unknown } | null | undefined)?.dry_run === true
}

async function answerOf(to: string, { method, headers, body, signal, change }: Sent): Promise<Response> {
  const response = await arrived(fetch(to, { method, headers, body, credentials: 'same-origin', cache: 'no-store', ...(signal && { signal }) }), { signal, change })
  if (change) changedAt = performance.now()
  if (!response.ok) throw new ApiError(response.status, problemOf(await arrived(response.text(), { signal, change })))
  return response
}

/** An answer that is lost in the middle is as good as none. */
async function arrived<T>(answer: Promise<T>, { signal, change }: Pick<Sent, 'signal' | 'change'>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Unreachable(change)
  }
}

function problemOf(text: string): Partial<Problem> {
  try {
    return JSON.parse(text) as Partial<Problem>
  } catch {
    return { detail: text.slice(0, 300) }
  }
}
