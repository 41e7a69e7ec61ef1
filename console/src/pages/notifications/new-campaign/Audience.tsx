/** To whom a campaign goes: all, a segment, a filter, an uploaded list, some by name, or those that a query finds. */
import { Radio, Select, Textarea } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '@/api/client'
import { useSession } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import form from '../../job-form/JobForm.module.css'
import classes from './NewCampaign.module.css'
import { idsOf, type Plan } from './plan'

interface Props {
  plan: Plan
  set<K extends keyof Plan>(name: K): (value: Plan[K]) => void
  error: string | undefined
}

export function Audience({ plan, set, error }: Props) {
  const session = useSession()
  const [query, setQuery] = useState(plan.sql)
  const segments = useQuery({ queryKey: ['segments'], queryFn: () => call('GET /segments', { query: { limit: 500 } }), enabled: plan.who === 'segment' })
  const lists = useQuery({ queryKey: ['audiences'], queryFn: () => call('GET /audiences', { query: { limit: 500 } }), enabled: plan.who === 'list' })
  return (
    <>
      <Radio.Group aria-label={t('To whom')} value={plan.who ?? ''} onChange={(value) => set('who')(value as Plan['who'])} error={plan.who === null ? error : undefined}>
        <div className={classes.choices}>
          <Radio size="xs" value="everyone" label={t('All recipients')} description={t('Of the namespace, as they are when it goes out.')} />
          <Radio size="xs" value="segment" label={t('A segment')} description={t('A saved filter, as it is when it goes out.')} />
          <Radio size="xs" value="filter" label={t('A filter')} description={t('Recipients who meet a condition that is written here.')} />
          <Radio size="xs" value="list" label={t('An uploaded list')} description={t('With variables of their own, if the list has some.')} />
          <Radio size="xs" value="user_ids" label={t('Some by name')} description={t('For a few; upload a list for more than 10,000.')} />
          {session.mayEverywhere('admin') && <Radio size="xs" value="sql" label={t('An SQL query')} description={t('Whom it finds when it goes out. For admins of all namespaces, as it can read everything.')} />}
        </div>
      </Radio.Group>
      {plan.who === 'segment' && <Select mt="md" searchable label={t('Segment')} placeholder={t('Choose')} nothingFoundMessage={t('There is no such segment: sexton segments put')} data={(segments.data ?? []).map((each) => each.name)} value={plan.segment || null} onChange={(value) => set('segment')(value ?? '')} error={error} />}
      {plan.who === 'list' && <Select mt="md" searchable label={t('List')} placeholder={t('Choose')} nothingFoundMessage={t('There is no such list: sexton audiences upload')} data={(lists.data ?? []).map((each) => ({ value: each.name, label: `${each.name} · ${number(each.size)}` }))} value={plan.list || null} onChange={(value) => set('list')(value ?? '')} error={error} />}
      {plan.who === 'filter' && <Textarea mt="md" autosize minRows={3} label={t('Filter')} description={t('A condition on a field, or all, any and not of conditions; fields are user_id, email, phone, timezone, locale or your own.')} classNames={{ input: form.code ?? '' }} spellCheck={false} value={plan.filter} onChange={(event) => set('filter')(event.currentTarget.value)} error={error} />}
      {plan.who === 'user_ids' && <Textarea mt="md" autosize minRows={3} maxRows={12} label={t('Recipients')} description={idsOf(plan.userIds).length ? tn('{count} recipient by name', '{count} recipients by name', idsOf(plan.userIds).length) : t('Their ids, with spaces, commas or lines between them.')} spellCheck={false} value={plan.userIds} onChange={(event) => set('userIds')(event.currentTarget.value)} error={error} />}
      {plan.who === 'sql' && <Textarea mt="md" autosize minRows={3} maxRows={20} label={t('Query')} description={t('A SELECT with a column user_id; other columns become variables. It is run, and counted, when you leave this field.')} placeholder="select user_id, plan from customers where country = 'DE'" classNames={{ input: form.code ?? '' }} spellCheck={false} value={query} onChange={(event) => setQuery(event.currentTarget.value)} onBlur={() => set('sql')(query)} error={error} />}
    </>
  )
}
