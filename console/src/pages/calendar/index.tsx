/** The calendar of everything: jobs, content and campaigns. */
import { Button, Chip, Group, TextInput } from '@mantine/core'
import { IconCalendarPlus, IconTag } from '@tabler/icons-react'
import { useState } from 'react'
import { t } from '@/i18n'
import { Page } from '@/parts/Page'
import { useParameters } from '@/parts/parameters'
import { useTyped } from '@/parts/typed'
import { PlanCalendar } from './PlanCalendar'
import { Subscribe } from './Subscribe'

export default function CalendarPage() {
  const [search, change] = useParameters()
  const [subscribing, setSubscribing] = useState(false)
  const kinds = (search.get('kinds') ?? 'jobs,content,campaigns').split(',').filter(Boolean)
  const written = search.get('label') ?? ''
  const label = written.trim()
  const [typed, type] = useTyped(written, (text) => change({ label: text || null }))
  return (
    <Page title={t('Calendar')} actions={<Button variant="default" leftSection={<IconCalendarPlus size={14} />} onClick={() => setSubscribing(true)}>{t('Subscribe')}</Button>}>
      <PlanCalendar
        kinds={kinds}
        label={label}
        first="week"
        right={
          <Chip.Group multiple value={kinds} onChange={(value) => change({ kinds: value.join(',') })}>
            <Group gap={4}>
              {kinds.includes('jobs') && <TextInput aria-label={t('Label of jobs: name=value')} placeholder={t('Label')} leftSection={<IconTag size={13} />} value={typed} onChange={(event) => type(event.currentTarget.value)} w={104} size="xs" />}
              {[['jobs', t('Jobs')], ['content', t('Content')], ['campaigns', t('Campaigns')]].map(([value = '', name]) => <Chip key={value} value={value} size="xs" variant="light">{name}</Chip>)}
            </Group>
          </Chip.Group>
        }
      />
      {subscribing && <Subscribe kinds={kinds} label={label} close={() => setSubscribing(false)} />}
    </Page>
  )
}
