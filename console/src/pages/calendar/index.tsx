/** The calendar of everything: jobs, content and campaigns. */
import { Button, Chip, Group, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconCalendarPlus, IconTag } from '@tabler/icons-react'
import { useState } from 'react'
import { useSearchParams } from 'react-router'
import { t } from '@/i18n'
import { Page } from '@/parts/Page'
import { PlanCalendar } from './PlanCalendar'
import { Subscribe } from './Subscribe'

export default function CalendarPage() {
  const [search, setSearch] = useSearchParams()
  const [subscribing, setSubscribing] = useState(false)
  const kinds = (search.get('kinds') ?? 'jobs,content,campaigns').split(',').filter(Boolean)
  const label = search.get('label') ?? ''
  const set = (name: string, value: string) => setSearch((before) => { const next = new URLSearchParams(before); if (value || name === 'kinds') next.set(name, value); else next.delete(name); return next }, { replace: true })
  const setLabel = useDebouncedCallback((value: string) => set('label', value.trim()), 300)
  return (
    <Page title={t('Calendar')} actions={<Button variant="default" leftSection={<IconCalendarPlus size={14} />} onClick={() => setSubscribing(true)}>{t('Subscribe')}</Button>}>
      <PlanCalendar
        kinds={kinds}
        label={label}
        first="week"
        right={
          <Chip.Group multiple value={kinds} onChange={(value) => set('kinds', value.join(','))}>
            <Group gap={4}>
              {kinds.includes('jobs') && <TextInput aria-label={t('Label of jobs: name=value')} placeholder={t('Label')} leftSection={<IconTag size={13} />} defaultValue={label} onChange={(event) => setLabel(event.currentTarget.value)} w={104} size="xs" />}
              {[['jobs', t('Jobs')], ['content', t('Content')], ['campaigns', t('Campaigns')]].map(([value = '', name]) => <Chip key={value} value={value} size="xs" variant="light">{name}</Chip>)}
            </Group>
          </Chip.Group>
        }
      />
      {subscribing && <Subscribe kinds={kinds} label={label} close={() => setSubscribing(false)} />}
    </Page>
  )
}
