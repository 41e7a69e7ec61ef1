import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { page } from '@/api/client'
import type { ScheduleView } from '@/api/schema'
import { t } from '@/i18n'
import { Empty } from '@/parts/Empty'
import { Answer, Panel } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import { counted } from '@/parts/DataTable'
import classes from './Content.module.css'

const COLUMNS: [string, string][] = [['pending', 'Planned'], ['processing', 'Going out'], ['done', 'Done'], ['failed', 'Failed'], ['skipped', 'Skipped']]

export function Board() {
  return <div className={classes.board}>{COLUMNS.map(([status, title]) => <Column key={status} status={status} title={t(title)} />)}</div>
}

function Column({ status, title }: { status: string; title: string }) {
  const asked = useQuery({ queryKey: ['content', 'schedules', status], queryFn: () => page('GET /content/schedules', { query: { status: status as 'pending', limit: 50 } }) })
  return (
    <Panel title={title} right={asked.data ? counted(asked.data.items.length, asked.data.total, asked.data.estimated, asked.data.cursor !== null) : undefined} flush>
      <Answer query={asked}>
        {({ items }) => items.length === 0 ? (
          status === 'pending' ? <Empty title={t('Nothing is planned')} command={"sexton content schedule post 1 publish --at '2027-01-04T09:00' --timezone Europe/Berlin"} /> : <p className={classes.none}>{t('none')}</p>
        ) : (
          <div className={classes.cards}>{items.map((each) => <Card key={each.schedule_id} schedule={each} />)}</div>
        )}
      </Answer>
    </Panel>
  )
}

export function Card({ schedule }: { schedule: ScheduleView }) {
  return (
    <Link to={`/content/schedules/${schedule.schedule_id}`} className={classes.card}>
      <span className={classes.cardTitle}>{schedule.entity_type}/{schedule.entity_id}</span>
      <span className={classes.cardLine}><strong>{t(schedule.action)}</strong> <Time at={schedule.scheduled_at_utc} zone={schedule.timezone} show="both" /></span>
      <span className={classes.cardLine}>
        {schedule.needs_approval && <Status status={schedule.approved_by ? 'done' : 'warning'} label={schedule.approved_by ? t('approved') : t('needs approval')} />}
        {schedule.recurrence_rule && <Status status="pending" label={t('series')} />}
        {schedule.release_id && <Status status="pending" label={t('release')} />}
        {schedule.last_error && <span className="bad clip" title={schedule.last_error}>{schedule.last_error}</span>}
      </span>
      <span className="quiet clip">{schedule.note ?? schedule.created_by}</span>
    </Link>
  )
}
