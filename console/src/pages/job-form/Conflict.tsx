/** Another has changed the job since the form was opened: what they changed, and whether it is what is changed here, too. */
import { Alert, Button, Group } from '@mantine/core'
import { writeExact } from '@/api/exact'
import type { JobView } from '@/api/schema'
import { t } from '@/i18n'
import { masked } from '@/parts/Json'
import { DiffTable } from '../job/DiffTable'
import { differences } from '../job/differences'
import { definitionOf } from '../job/texts'

interface Props {
  before: JobView
  theirs: JobView
  mine: Record<string, unknown>
  /** Save what differs here on what it is now. */
  over: () => void
  /** Begin again with what it is now. */
  take: () => void
}

export function Conflict({ before, theirs, mine, over, take }: Props) {
  const fields = differences(definitionOf(before), definitionOf(theirs))
  const both = fields.filter(([name]) => name in mine)
  return (
    <Alert color="yellow" title={t('{name} was changed since you opened it', { name: before.name })}>
      <DiffTable fields={fields} />
      {both.length > 0 ? (
        <p>{t('You change this, too:')} {both.map(([name]) => <span key={name}><code>{name}</code> → <code>{writeExact(masked(mine[name], name), 0)}</code> </span>)}</p>
      ) : (
        <p>{t('You change other fields: both changes fit together.')}</p>
      )}
      <Group gap="xs" mt="sm">
        <Button onClick={over}>{both.length > 0 ? t('Save mine over it') : t('Save mine as well')}</Button>
        <Button variant="default" onClick={take}>{t('Drop mine, load what it is now')}</Button>
      </Group>
    </Alert>
  )
}
