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
interface Done {
  ids: string[]
  done: number
  refused: number
  why: string | null
}

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
        const { undo } = what
        const done = nothingDone()
        let whole = false
        try {
          await throughAll(what.place, wishes.map((wish) => ({ ...wish, ...what.more?.() })), expected, reason, done)
          whole = true
        } finally {
          // What was done before a call failed is done.
          if (undo && done.ids.length) tellUndo(told(done, what.done), () => takeBack(what.place, undo, done.ids, after))
          else if (whole || done.done) tell(told(done, what.done))
          await after()
        }
      },
    })
  } catch (error) {
    tellFailure(error)
  }
}

/** Fails if some were refused: these are not as they were. */
export async function takeBack(place: Place, undo: string, ids: string[], after: () => unknown): Promise<void> {
  const done = nothingDone()
  try {
    await throughAll(place, named(undo, ids), [], undefined, done)
  } finally {
    await after()
  }
  if (done.refused) throw new Error(`${tn('{count} was refused', '{count} were refused', done.refused)}: ${done.why ?? ''}`)
}

/** The selected rows by their ids, some in each call, or all that match. */
export function wishesOf<T>(action: string, selection: Pick<Selection<T>, 'rows' | 'all' | 'filters'>, keyOf: (row: T) => string): Wish[] {
  if (!selection.all) return named(action, selection.rows.map(keyOf))
  const { sort: _, ...filter } = selection.filters
  return [{ action, filter: Object.keys(filter).length ? filter : { all: true } }]
}

function named(action: string, ids: string[]): Wish[] {
  return Array.from({ length: Math.ceil(ids.length / MOST_IDS) }, (_, place) => ({ action, filter: { ids: ids.slice(place * MOST_IDS, (place + 1) * MOST_IDS) } }))
}

/** “12 were changed · 1 was refused: …” */
export function told({ done, refused, why }: Pick<Done, 'done' | 'refused' | 'why'>, words: [string, string] = ['{count} was changed', '{count} were changed']): string {
  const changed = tn(...words, done)
  return refused ? `${changed} · ${tn('{count} was refused', '{count} were refused', refused)}${why ? `: ${why}` : ''}` : changed
}

function nothingDone(): Done {
  return { ids: [], done: 0, refused: 0, why: null }
}

/** Adds what was done to `all`, call by call. */
async function throughAll(place: Place, wishes: Wish[], expected: (number | undefined)[], reason: string | undefined, all: Done): Promise<void> {
  for (const [index, wish] of wishes.entries()) {
    let after: string | null = null
    do {
      const first = after === null && expected[index] !== undefined ? { expected: expected[index] } : {}
      const answer: Partial<ItemTally> = await send(place, { ...wish, ...first, after }, reason)
      all.done += answer.done ?? 0
      all.ids.push(...(answer.ids ?? []))
      for (const each of answer.refused ?? []) all.refused += each.items ?? 0
      all.why ??= answer.refused?.[0]?.message ?? null
      after = answer.cursor ?? null
    } while (after)
  }
}

async function send(place: Place, body: Record<string, unknown>, reason?: string): Promise<Partial<ItemTally>> {
  return (await call(`POST /${place}/actions` satisfies Operation, { body: body as never, reason })) as Partial<ItemTally>
}
