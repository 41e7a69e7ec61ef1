/** What is planned, what goes out now, and what became of it in the last two weeks. */
import { IconArchive, IconEye, IconEyeOff, IconPackage, IconRepeat, type Icon } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useSearchParams } from 'react-router'
import { page } from '@/api/client'
import type { ScheduleView } from '@/api/schema'
import { t } from '@/i18n'
import { counted, FilterBar } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { Answer, Panel } from '@/parts/Page'
import { Dot, Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import classes from './Content.module.css'

type Tone = 'good' | 'bad' | 'warn' | 'info' | 'idle'
const COLUMNS: [string, string, Tone][] = [['pending', 'Planned', 'idle'], ['processing', 'Going out', 'info'], ['done', 'Done', 'good'], ['failed', 'Failed', 'bad'], ['skipped', 'Skipped', 'warn']]
const RECENT_DAYS = 14
/** In a column; the list has all of them. */
const MOST_CARDS = 50
const DAY_MS = 86_400_000
/** The clock of the browser may be off by this much: an hour. */
const SKEW_DAYS = 1 / 24
const FILTERS = ['entity_type', 'entity_id', 'action', 'created_by']
export const ACTIONS: Record<string, Icon> = { publish: IconEye, unpublish: IconEyeOff, archive: IconArchive }

export function Board() {
  const [search] = useSearchParams()
  const chosen = Object.fromEntries([...search].filter(([name]) => FILTERS.includes(name)))
  return (
    <>
      <FilterBar filters={[{ name: 'entity_type', label: t('Type'), kind: 'text', width: 150 }, { name: 'entity_id', label: t('Id'), kind: 'text', width: 180 }, { name: 'action', label: t('Action'), options: Object.keys(ACTIONS).map((value) => ({ value, label: t(value) })) }, { name: 'created_by', label: t('Planned by'), kind: 'text', width: 160 }]} />
      <NothingPlanned chosen={chosen} />
      <div className={classes.board}>{COLUMNS.map(([status, title, tone]) => <Column key={status} status={status} title={t(title)} tone={tone} chosen={chosen} />)}</div>
    </>
  )
}

/** The name that people know: the title of the entity, else its type and id. */
export function nameOf(item: { title?: string | null; entity_type: string; entity_id: string }): string {
  return item.title ?? `${item.entity_type}/${item.entity_id}`
}

/** Above the board: a column is too narrow for a command. */
function NothingPlanned({ chosen }: { chosen: Record<string, string> }) {
  const { data } = useColumn('pending', chosen)
  if (data?.items.length !== 0 || Object.keys(chosen).length > 0) return null
  return (
    <Panel>
      <Empty title={t('Nothing is planned')} command="sexton content schedule publish post/42 '2027-01-04 09:00' --timezone Europe/Berlin">{t('An action publishes, unpublishes or archives an entity at its time.')}</Empty>
    </Panel>
  )
}

function daysAway(days: number): string {
  return new Date(Date.now() + days * DAY_MS).toISOString()
}

function isPast(status: string): boolean {
  return status !== 'pending' && status !== 'processing'
}

function useColumn(status: string, chosen: Record<string, string>) {
  const past = isPast(status)
  return useQuery({
    queryKey: ['content', 'schedules', status, chosen],
    // The latest of what is over come first: those to come, which may be many, are not looked through for them.
    queryFn: () => page('GET /content/schedules', { query: { status: status as 'pending', limit: MOST_CARDS, ...(past && { sort: '-scheduled_at', start: daysAway(-RECENT_DAYS), end: daysAway(SKEW_DAYS) }), ...chosen } as never }),
    placeholderData: keepPreviousData,
  })
}

function Column({ status, title, tone, chosen }: { status: string; title: string; tone: Tone; chosen: Record<string, string> }) {
  const past = isPast(status)
  const asked = useColumn(status, chosen)
  return (
    <section className={classes.column} aria-label={title}>
      <header><Dot tone={tone} /><h2>{title}</h2>{asked.data && <span className={classes.columnCount}>{counted(asked.data.items.length, asked.data.total, asked.data.estimated, asked.data.cursor !== null)}</span>}</header>
      <Answer query={asked}>
        {({ items, cursor }) => items.length === 0 ? (
          Object.keys(chosen).length ? <p className={classes.none}>{t('Nothing matches these filters.')}</p> : <p className={classes.none}>{past ? t('none in {count} days', { count: RECENT_DAYS }) : t('none')}</p>
        ) : (
          <div className={classes.cards} tabIndex={0} role="group" aria-label={title}>
            {items.map((each) => <Card key={each.schedule_id} schedule={each} />)}
            {cursor && <Link className={classes.rest ?? ''} to={`/content/planned?${new URLSearchParams({ status, ...(past && { sort: '-scheduled_at' }), ...chosen })}`}>{t('Show all')}</Link>}
          </div>
        )}
      </Answer>
    </section>
  )
}

export function Card({ schedule }: { schedule: ScheduleView }) {
  const Action = ACTIONS[schedule.action] ?? IconEye
  const name = nameOf(schedule)
  return (
    <article className={classes.card}>
      <Link to={`/content/schedules/${schedule.schedule_id}`} className={classes.cardTitle}>{name}</Link>
      <span className={classes.cardLine}><Action size={13} aria-hidden /> {t(schedule.action)} <Time at={schedule.scheduled_at_utc} zone={schedule.timezone} show="clock" /></span>
      {schedule.last_error && <span className={classes.cardError} title={schedule.last_error}>{schedule.last_error}</span>}
      <span className={classes.cardLine}>
        {schedule.needs_approval && schedule.status === 'pending' && <Status status={schedule.approved_by ? 'done' : 'warning'} label={schedule.approved_by ? t('approved') : t('needs approval')} />}
        {schedule.recurrence_rule && <span className={classes.tag}><IconRepeat size={12} aria-hidden /> {t('series')}</span>}
        {schedule.release_id && <span className={classes.tag}><IconPackage size={12} aria-hidden /> {t('release')}</span>}
        {schedule.window_id && <span className={classes.tag}>{t('window')}</span>}
      </span>
      <span className={classes.cardFoot}><span className="clip">{schedule.title ? schedule.content_id : ''}</span><span className="clip">{schedule.created_by.split('@')[0]}</span></span>
    </article>
  )
}
