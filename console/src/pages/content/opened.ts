/** Entries of the calendar that open and close a window, put together. */
import type { CalendarEntry, ScheduleView } from '@/api/schema'

export interface Open {
  id: string
  /** Null: it was opened before what is shown. */
  starts: string | null
  /** Null: it closes after what is shown. */
  ends: string | null
  failed: boolean
  entry: Pick<CalendarEntry, 'title' | 'entity_type' | 'entity_id' | 'content_id' | 'timezone'>
}

export function windowsOf(entries: CalendarEntry[]): Open[] {
  const found: Open[] = []
  const waiting = new Map<string, Open>()
  for (const entry of entries) {
    if (!entry.window_id) continue
    const failed = entry.status === 'failed' || entry.status === 'skipped'
    const open = waiting.get(entry.window_id)
    if (entry.action === 'unpublish') {
      if (open) {
        open.ends = entry.scheduled_at_utc
        open.failed ||= failed
        waiting.delete(entry.window_id)
      } else found.push({ id: entry.window_id, starts: null, ends: entry.scheduled_at_utc, failed, entry })
      continue
    }
    const made: Open = { id: entry.window_id, starts: entry.scheduled_at_utc, ends: null, failed, entry }
    waiting.set(entry.window_id, made)
    found.push(made)
  }
  return found
}

/** Windows that are open all the time that is shown, from the actions after it that close them. */
export function spanning(ends: ScheduleView[], start: string): Open[] {
  return ends.flatMap((entry) => {
    const { window_id: id, window_opens_at: starts, scheduled_at_utc: ends } = entry
    return id && starts && Date.parse(starts) < Date.parse(start) ? [{ id, starts, ends, failed: false, entry }] : []
  })
}
