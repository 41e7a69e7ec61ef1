import { Link } from 'react-router'
import type { ExecutionView } from '@/api/schema'
import { t } from '@/i18n'
import { Empty } from '@/parts/Empty'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import tables from '../queues/Queues.module.css'

export function Executions({ rows }: { rows: ExecutionView[] }) {
  if (rows.length === 0) return <Empty title={t('It has not gone out yet')} />
  return (
    <div className={tables.scroll}>
      <table className={tables.table}>
        <thead><tr><th scope="col">{t('Outcome')}</th><th scope="col">{t('Action')}</th><th scope="col">{t('Planned for')}</th><th scope="col">{t('Done')}</th><th scope="col">{t('Version')}</th><th scope="col">{t('Effect')}</th></tr></thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={row.execution_id ?? index}>
              <td><Status status={row.status} /></td><td>{t(row.action)}</td><td><Time at={row.scheduled_at_utc} show="both" /></td><td><Time at={row.execution_finished} show="clock" seconds /></td><td>{row.version ?? '–'}</td>
              <td style={{ whiteSpace: 'normal' }}>{row.error_message ? <span className="bad">{row.error_message}</span> : (row.effect ?? '')} {row.execution_id && <Link to={`/runs/${row.execution_id}`} className="mono quiet">{row.execution_id}</Link>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
