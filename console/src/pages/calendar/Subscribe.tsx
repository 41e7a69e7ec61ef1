/** Addresses that people's own calendars read: what the page shows, made, listed and revoked. */
import { Alert, Button, Chip, Group, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, page } from '@/api/client'
import type { CalendarFeedSpec, CalendarFeedView } from '@/api/schema'
import { useSession, useZone } from '@/frame/session'
import { t } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { Code } from '@/parts/Copy'
import { Dialog } from '@/parts/Dialog'
import { Failure } from '@/parts/Page'
import { Time } from '@/parts/Time'
import classes from './CalendarPage.module.css'

/** The feeds that are in use, the latest first: those that were revoked fill pages too. */
async function openFeeds(): Promise<CalendarFeedView[]> {
  const open: CalendarFeedView[] = []
  let cursor: string | null = null
  do {
    const found: Awaited<ReturnType<typeof page<'GET /calendar/feeds'>>> = await page('GET /calendar/feeds', { query: { limit: 1000, ...(cursor ? { cursor } : {}) } })
    open.push(...found.items.filter((feed) => !feed.revoked_at))
    cursor = found.cursor
  } while (cursor)
  return open.reverse()
}

export function Subscribe({ kinds, label, close }: { kinds: string[]; label: string; close: () => void }) {
  const session = useSession()
  const zone = useZone()
  const ask = useConfirm()
  const queries = useQueryClient()
  const [name, setName] = useState(t('Calendar of {name}', { name: session.caller.name }))
  const [shown, setShown] = useState(kinds)
  const [labelled, setLabelled] = useState(label)
  const [path, setPath] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const feeds = useQuery({ queryKey: ['calendar-feeds'], queryFn: openFeeds })
  const open = feeds.data ?? []
  const refresh = () => queries.invalidateQueries({ queryKey: ['calendar-feeds'] })
  const make = async () => {
    setBusy(true)
    try {
      const own = shown.includes('jobs') && labelled.trim() ? labelled.trim() : null
      const made = await call('POST /calendar/feeds', { body: { name, kinds: shown as CalendarFeedSpec['kinds'], label: own, timezone: zone } as CalendarFeedSpec })
      setError(null)
      setPath(location.origin + made.path)
      await refresh()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog opened onClose={close} title={<strong>{t('Subscribe as iCalendar')}</strong>} size="lg">
      <p className="quiet">{t('An address that calendar programs read: jobs of the next 30 days, content and campaigns of the next year. What fires often is one event a day. Each person with the address sees names and times, and nothing else, until it is revoked.')}</p>
      {path ? (
        <Alert mt="md" title={t('It is shown this once')}><Code>{path}</Code></Alert>
      ) : (
        <form onSubmit={(event) => { event.preventDefault(); void make() }}>
          <TextInput mt="md" label={t('Name')} required maxLength={200} value={name} onChange={(event) => setName(event.currentTarget.value)} data-autofocus />
          <Chip.Group multiple value={shown} onChange={setShown}>
            <Group gap={6} mt="sm">{[['jobs', t('Jobs')], ['content', t('Content')], ['campaigns', t('Campaigns')]].map(([value = '', text]) => <Chip key={value} value={value} size="xs" variant="light">{text}</Chip>)}</Group>
          </Chip.Group>
          {shown.includes('jobs') && <TextInput mt="sm" label={t('Label of jobs: name=value')} placeholder="team=billing" value={labelled} onChange={(event) => setLabelled(event.currentTarget.value)} />}
          <Group justify="flex-end" mt="md"><Button type="submit" loading={busy} disabled={!session.may('editor') || shown.length === 0 || !name.trim()}>{t('Make an address')}</Button></Group>
          {!session.may('editor') && <p className="quiet">{t('Making one needs the role editor.')}</p>}
        </form>
      )}
      {error !== null && <Failure error={error} />}
      {open.length > 0 && (
        <>
          <h3 className={classes.feeds}>{t('Addresses in use')}</h3>
          <ul className={classes.list}>
            {open.map((feed) => (
              <li key={feed.feed_id}>
                <span><strong>{feed.name}</strong> <span className="quiet">{feed.kinds.map((kind) => t(kind)).join(', ')}{feed.label ? ` · ${feed.label}` : ''} · {feed.created_by} · <Time at={feed.created_at} /></span></span>
                {session.may('editor') && (
                  <Button
                    variant="subtle"
                    color="red"
                    size="compact-sm"
                    onClick={() => ask({
                      title: t('Revoke an address'),
                      object: feed.name,
                      effect: t('Calendars that read it stop being updated: a new address must be made and given to each of them.'),
                      verb: t('Revoke'),
                      destructive: true,
                      reason: 'required',
                      act: async (reason) => { await call('POST /calendar/feeds/{calendar_feed}/revoke', { path: { calendar_feed: feed.feed_id }, reason }); await refresh() },
                    })}
                  >
                    {t('Revoke')}
                  </Button>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
    </Dialog>
  )
}
