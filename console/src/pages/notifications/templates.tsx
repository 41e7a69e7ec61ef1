import { Button } from '@mantine/core'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import { Link } from 'react-router'
import { listed } from '@/api/client'
import type { TemplateView } from '@/api/schema'
import { useSession } from '@/frame/session'
import { t } from '@/i18n'
import { useConfirm } from '@/parts/Confirm'
import { DataTable, type Selection } from '@/parts/DataTable'
import { channelName } from '@/parts/channel'
import { Empty } from '@/parts/Empty'
import { askForMany } from '@/parts/many'
import { Time } from '@/parts/Time'
import { deletingTemplates } from './many'

const pathOf = (id: string) => `/notifications/templates/${encodeURIComponent(id)}`

export function NewTemplateButton() {
  const session = useSession()
  return session.may('editor') ? <Button component={Link} to="/notifications/templates/new" leftSection={<IconPlus size={14} />}>{t('New template')}</Button> : null
}

export function Templates() {
  const session = useSession()
  const ask = useConfirm()
  const queries = useQueryClient()
  const bulk = session.may('editor') ? [{ label: t('Delete'), icon: <IconTrash size={14} />, color: 'var(--bad)', act: (selection: Selection<TemplateView>) => void askForMany(ask, deletingTemplates(), selection, (each) => each.template_id, () => queries.invalidateQueries({ queryKey: ['templates'] })) }] : []
  const columns = useMemo((): ColumnDef<TemplateView>[] => [
    { id: 'id', header: () => t('Template'), cell: ({ row: { original: each } }) => <Link to={pathOf(each.template_id)} className="link">{each.template_id}</Link>, meta: { sort: 'template_id' } },
    { id: 'version', header: () => t('Version'), cell: ({ row: { original: each } }) => each.latest_version, meta: { width: 84, narrow: 72 } },
    { id: 'locales', header: () => t('Languages'), cell: ({ row: { original: each } }) => Object.keys(each.locales).join(', ') },
    { id: 'channels', header: () => t('Channels'), cell: ({ row: { original: each } }) => [...new Set(Object.values(each.locales).flatMap((texts) => Object.keys(texts as object)))].map(channelName).join(', '), meta: { hide: 'sm' } },
    { id: 'topic', header: () => t('Topic'), cell: ({ row: { original: each } }) => each.topic ?? '–', meta: { hide: 'md' } },
    { id: 'by', header: () => t('Changed'), cell: ({ row: { original: each } }) => <><Time at={each.created_at} /> <span className="quiet">{each.created_by}</span></>, meta: { hide: 'sm' } },
  ], [])
  return <DataTable<TemplateView> name="templates" label={t('Templates')} columns={columns} filters={[{ name: 'search', label: t('Beginning of the id'), kind: 'text' }]} load={(filters, cursor, signal) => listed('GET /templates', filters, cursor, signal)} keyOf={(each) => each.template_id} to={(each) => pathOf(each.template_id)} bulk={bulk} steady empty={<Empty title={t('No templates yet')} command={"sexton templates put hello --subject Hello --text 'Hello {{ name }}'"}>{t('A template has the texts of a message, by channel and language. To make one:')}</Empty>} />
}
