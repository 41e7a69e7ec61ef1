import { Autocomplete } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '@/api/client'
import { t, tn } from '@/i18n'
import classes from './JobForm.module.css'

/** The handlers of the workers that are up; one that none has is told, as its runs would wait. */
export function HandlerField({ value, name, onChange, error }: { value: string; name: string; onChange: (value: string) => void; error?: string | undefined }) {
  const workers = useQuery({ queryKey: ['workers'], queryFn: () => call('GET /workers', {}), staleTime: 30_000, retry: false })
  const having = new Map<string, number>()
  for (const worker of workers.data?.filter((each) => each.state === 'live') ?? []) for (const handler of worker.handlers ?? []) having.set(handler, (having.get(handler) ?? 0) + 1)
  const meant = value.trim() || name.trim()
  const count = having.get(meant) ?? 0
  return (
    <div>
      <Autocomplete mt="sm" label={t('Handler')} description={t('Default: the handler with the name of the job.')} placeholder="sexton.log" value={value} onChange={onChange} data={[...having.keys()].toSorted()} limit={20} error={error} />
      {meant && workers.data && (
        <p className={count ? classes.served : classes.unserved}>
          {count ? tn('{count} worker has the handler {handler}.', '{count} workers have the handler {handler}.', count, { handler: meant }) : t('No worker that is up has the handler {handler}: its runs would wait for one.', { handler: meant })}
        </p>
      )}
    </div>
  )
}
