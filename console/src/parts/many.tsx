/** Doing something to many things that have an id and a list: count first, then ask, then go on until it is done; and how that is taken back. */
import type { ReactNode } from 'react'
import { call } from '@/api/client'
import type { ItemTally } from '@/api/schema'
import { t, tn } from '@/i18n'
import type { Question } from './Confirm'
import type { Selection } from './DataTable'
import { tell, tellFailure, tellUndo } from './notify'

/** Where the server acts on many. */
export type Place = 'campaigns' | 'templates' | 'recipients' | 'content/schedules' | 'content/releases' | 'notifications'
type Operation = `POST /${Place}/actions`

export interface ManyAction {
  place: Place
  action: string
  title: string
  verb: string
  /** “3 campaigns”: the singular and the plural. */
  things: [string, string]
  effect: ReactNode
  /** What is told when it is done; without it, that so many were changed. */
  done?: [string, string]
  destructive?: boolean
  /** The number has to be typed before it is done. */
  typed?: boolean
  /** The action that takes it back. */
  undo?: string
  children?: ReactNode
  /** What else the request says, once it was asked. */
  more?(): Record<string, unknown>
}

export interface Wish {
  action: string
  filter: Record<string, unknown>
}
/** What all calls together have done. */
export interface Done {
  ids: string[]
  done: number
  refused: number
  why: string | null
}

/** What each call answers, of whatever there are many. */
interface Tallied {
  done?: number
  requested?: number
  ids?: string[]
  job_ids?: string[]
  refused?: { message: string; items?: number; jobs?: number; runs?: number }[]
  cursor?: string | null
}
type Send = (body: Record<string, unknown>, how: { idempotencyKey?: string }) => Promise<Tallied>

/** So many are named in one call. */
const MOST_IDS = 200

export async function askForMany<T>(ask: (question: Question) => void, what: ManyAction, selection: Selection<T>, keyOf: (row: T) => string, after: () => unknown): Promise<void> {
  const wishes = wishesOf(what.action, selection, keyOf)
  try {
    // How many are expected; an estimate is no bound, as more may be there a moment later.
    const expected: (number | undefined)[] = []
    let matched = 0
    const names: string[] = []
    let estimated = false
    for (const wish of wishes) {
      const counted = await send(what.place, { ...wish, ...what.more?.(), dry_run: true })
      matched += counted.matched ?? 0
      expected.push(counted.estimated && !what.typed ? undefined : (counted.matched ?? 0))
      estimated ||= counted.estimated ?? false
      names.push(...(counted.sample ?? []).map((each) => each.name))
    }
    if (matched === 0 && !estimated) {
      tell(t('It can be done to none of them'))
      return
    }
    const things = estimated ? t('{things} or more', { things: tn(...what.things, matched) }) : tn(...what.things, matched)
    const shown = [...new Set(names)].slice(0, 5)
    ask({
      title: what.title,
      object: matched === 1 && shown[0] ? shown[0] : things,
      effect: <>{what.effect}{matched > 1 && shown.length > 0 && <> {t('Among them:')} {shown.join(', ')}{matched > shown.length ? '…' : ''}</>}</>,
      verb: `${what.verb} · ${things}`,
      ...(what.destructive ? { destructive: true, reason: 'required' as const } : {}),
      ...(what.undo ? { undoable: true } : {}),
      ...(what.typed ? { typed: String(matched) } : {}),
      ...(what.children ? { children: what.children } : {}),
      act: async (reason) => {
        const bodies = wishes.map((wish, index) => ({ ...wish, ...what.more?.(), ...(expected[index] === undefined ? {} : { expected: expected[index] }) }))
        const done = await throughAll(bodies, (body) => send(what.place, body, reason))
        const undo = what.undo
        if (undo && done.ids.length) tellUndo(told(done, what.done), () => takeBack(what.place, undo, done.ids, after))
        else tell(told(done, what.done))
        await after()
      },
    })
  } catch (error) {
    tellFailure(error)
  }
}

/** Fails if some were refused: these are not as they were. */
export async function takeBack(place: Place, undo: string, ids: string[], after: () => unknown): Promise<void> {
  await settled(await throughAll(named(undo, ids), (body) => send(place, body)), after)
}

/** Fails if some were refused. */
export async function settled(done: Done, after: () => unknown): Promise<void> {
  await after()
  if (done.refused) throw new Error(`${tn('{count} was refused', '{count} were refused', done.refused)}: ${done.why ?? ''}`)
}

/** The selected rows by their ids, some in each call, or all that match. */
export function wishesOf<T>(action: string, selection: Pick<Selection<T>, 'rows' | 'all' | 'filters'>, keyOf: (row: T) => string): Wish[] {
  if (!selection.all) return named(action, selection.rows.map(keyOf))
  const { sort: _, ...filter } = selection.filters
  return [{ action, filter: Object.keys(filter).length ? filter : { all: true } }]
}

/** These, some in each call. */
export function named(action: string, ids: string[], most = MOST_IDS): Wish[] {
  return Array.from({ length: Math.ceil(ids.length / most) }, (_, place) => ({ action, filter: { ids: ids.slice(place * most, (place + 1) * most) } }))
}

/** “12 were changed · 1 was refused: …” */
export function told({ done, refused, why }: Pick<Done, 'done' | 'refused' | 'why'>, words: [string, string] = ['{count} was changed', '{count} were changed']): string {
  return tn(...words, done) + refusedToo(refused) + (refused && why ? `: ${why}` : '')
}

export function refusedToo(refused: number): string {
  return refused ? ` · ${tn('{count} was refused', '{count} were refused', refused)}` : ''
}

/** A call goes through some of them and says where the next one goes on. With a key none of them is carried out twice. */
export async function throughAll(bodies: object[], send: Send, key: string | null = null): Promise<Done> {
  const all: Done = { ids: [], done: 0, refused: 0, why: null }
  let chunk = 0
  for (const body of bodies) {
    const { expected: _, ...rest } = body as { expected?: number }
    let after: string | null = null
    do {
      const answer: Tallied = await send({ ...(after === null ? body : rest), after }, key === null ? {} : { idempotencyKey: `${key}-${chunk++}` })
      all.done += (answer.done ?? 0) + (answer.requested ?? 0)
      all.ids.push(...(answer.ids ?? answer.job_ids ?? []))
      for (const each of answer.refused ?? []) all.refused += each.items ?? each.jobs ?? each.runs ?? 0
      all.why ??= answer.refused?.[0]?.message ?? null
      after = answer.cursor ?? null
    } while (after)
  }
  return all
}

async function send(place: Place, body: Record<string, unknown>, reason?: string): Promise<Partial<ItemTally>> {
  return (await call(`POST /${place}/actions` satisfies Operation, { body: body as never, reason })) as Partial<ItemTally>
}
