/** Calling many messages off: count first, then ask, then go on until it is done. */
import { call } from '@/api/client'
import type { NotificationActionRequest, NotificationTally, NotificationView } from '@/api/schema'
import { number, t, tn } from '@/i18n'
import type { Question } from '@/parts/Confirm'
import type { Selection } from '@/parts/DataTable'
import { tell, tellFailure } from '@/parts/notify'

/** So many are named in one call. */
const MOST_IDS = 200

export async function askToCallOff(ask: (question: Question) => void, selection: Selection<NotificationView>, after: () => unknown): Promise<void> {
  const wishes = callingOff(selection)
  try {
    const counted = { matched: 0, estimated: false, whom: new Set<string>() }
    for (const wish of wishes) {
      const found = await call('POST /notifications/actions', { body: { ...wish, dry_run: true } })
      counted.matched += found.matched ?? 0
      counted.estimated ||= found.estimated ?? false
      for (const each of found.sample ?? []) if (each.user_id) counted.whom.add(each.user_id)
    }
    const messages = counted.estimated ? t('{count} messages or more', { count: number(counted.matched) }) : tn('{count} message', '{count} messages', counted.matched)
    const named = [...counted.whom].slice(0, 5)
    ask({
      title: t('Call messages off'),
      object: messages,
      effect: <>{t('They do not go out. What was submitted already stays as it is.')}{named.length > 0 && <> {t('Among them, to:')} {named.join(', ')}{counted.matched > named.length ? '…' : ''}</>}</>,
      verb: `${t('Call off')} · ${messages}`,
      destructive: true,
      reason: 'required',
      act: async (reason) => {
        const done = await throughAll(wishes, reason)
        tell(tn('{count} message was called off', '{count} messages were called off', done.done) + (done.refused ? ` · ${tn('{count} was refused', '{count} were refused', done.refused)}` : ''))
        await after()
      },
    })
  } catch (error) {
    tellFailure(error)
  }
}

/** The selected rows by their ids, some in each call, or all that match. */
export function callingOff(selection: Pick<Selection<Pick<NotificationView, 'notification_id'>>, 'rows' | 'all' | 'filters'>): NotificationActionRequest[] {
  if (selection.all) {
    const { sort: _, ...filter } = selection.filters
    return [{ action: 'cancel', filter: Object.keys(filter).length ? filter : { all: true } } as NotificationActionRequest]
  }
  const ids = selection.rows.map((row) => row.notification_id)
  return Array.from({ length: Math.ceil(ids.length / MOST_IDS) }, (_, place) => ({ action: 'cancel', filter: { ids: ids.slice(place * MOST_IDS, (place + 1) * MOST_IDS) } }) as NotificationActionRequest)
}

async function throughAll(wishes: NotificationActionRequest[], reason: string | undefined): Promise<{ done: number; refused: number }> {
  let done = 0
  let refused = 0
  for (const wish of wishes) {
    let after: string | null = null
    do {
      const answer: NotificationTally = await call('POST /notifications/actions', { body: { ...wish, after }, reason })
      done += answer.done ?? 0
      refused += (answer.refused ?? []).reduce((sum, each) => sum + (each.messages ?? 0), 0)
      after = answer.cursor ?? null
    } while (after)
  }
  return { done, refused }
}
