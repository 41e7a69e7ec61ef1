/** What matches, as a file. */
import { ActionIcon, Menu, Tooltip } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { t } from '@/i18n'
import { save } from './download'
import { tellFailure } from './notify'
import { csvOf } from './rows'

const NAMES = { csv: 'CSV', json: 'JSON', jsonl: 'JSON lines' } as const
export type Format = keyof typeof NAMES

export function ExportMenu({ formats = ['csv', 'json'], write }: { formats?: Format[]; write(format: Format): Promise<unknown> }) {
  const attempt = async (format: Format) => {
    try {
      await write(format)
    } catch (error) {
      tellFailure(error)
    }
  }
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Tooltip label={t('Export what matches')}>
          <ActionIcon aria-label={t('Export what matches')}><IconDownload size={16} /></ActionIcon>
        </Tooltip>
      </Menu.Target>
      <Menu.Dropdown>
        {formats.map((format) => <Menu.Item key={format} onClick={() => void attempt(format)}>{t(NAMES[format])}</Menu.Item>)}
      </Menu.Dropdown>
    </Menu>
  )
}

/** Rows that are here, called after their list. */
export function saveRows(rows: readonly unknown[], label: string, format: Format): void {
  const [text, type] = format === 'csv' ? [csvOf(rows), 'text/csv'] : [JSON.stringify(rows, null, 2), 'application/json']
  save(new Blob([text], { type }), `${label.toLowerCase().replaceAll(' ', '-')}.${format}`)
}
