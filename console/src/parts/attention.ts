/** What needs attention, in the language of the page where its code says all; else in the words of the server. */
import type { Attention } from '@/api/schema'
import { currentLanguage, said, t, tn } from '@/i18n'

export function attentionText({ code, count, text }: Attention): string {
  if (currentLanguage() === 'en') return text
  switch (code) {
    case 'shards_without_leader':
      return tn('{count} shard has no leader: its jobs do not fire', '{count} shards have no leader: their jobs do not fire', count ?? 1)
    case 'no_workers':
      return t('no worker is running: runs stay pending')
    case 'problem_jobs':
      return tn('{count} job is set aside: its schedule cannot be computed', '{count} jobs are set aside: their schedules cannot be computed', count ?? 1)
    case 'dead_growing':
      return tn('{count} run died in the last ten minutes', '{count} runs died in the last ten minutes', count ?? 1)
    case 'dead_letters':
      return tn('{count} dead letter waits to be redriven or discarded', '{count} dead letters wait to be redriven or discarded', count ?? 1)
    case 'late_runs':
      return tn('{count} run of the last hour started more than a second late', '{count} runs of the last hour started more than a second late', count ?? 1)
    case 'unserved':
      return `${tn('{count} run waits that no worker takes', '{count} runs wait that no worker takes', count ?? 1)}: ${said(text.slice(text.indexOf(': ') + 2))}`
    default:
      return said(text)
  }
}
