import { useQuery } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import { Link, useParams } from 'react-router'
import { callExact, page } from '@/api/client'
import type { EntitySummary } from '@/api/schema'
import { t } from '@/i18n'
import { DataTable, type Filters } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { Json } from '@/parts/Json'
import { Answer, Columns, Page, Panel, Stack } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import { Card } from './Board'
import { Executions } from './executions'
import classes from './Content.module.css'

const pathOf = (entity: { entity_type: string; entity_id: string }) => `/content/entities/${encodeURIComponent(entity.entity_type)}/${encodeURIComponent(entity.entity_id)}`

export function Entities() {
  const columns = useMemo((): ColumnDef<EntitySummary>[] => [
    { id: 'entity', header: () => t('Entity'), cell: ({ row: { original: entity } }) => <Link to={pathOf(entity)} className="link">{entity.entity_type}/{entity.entity_id}</Link> },
    { id: 'state', header: () => t('State'), cell: ({ row: { original: entity } }) => <Status status={entity.state} /> },
    { id: 'published', header: () => t('Published version'), cell: ({ row: { original: entity } }) => entity.published_version ?? '–', meta: { align: 'right', hide: 'sm' } },
    { id: 'latest', header: () => t('Latest version'), cell: ({ row: { original: entity } }) => entity.latest_version, meta: { align: 'right', hide: 'sm' } },
    { id: 'updated', header: () => t('Changed'), cell: ({ row: { original: entity } }) => <Time at={entity.updated_at} show="both" /> },
  ], [])
  return (
    <DataTable<EntitySummary>
      name="content"
      label={t('Entities')}
      columns={columns}
      load={(filters: Filters, cursor, signal) => page('GET /content/entities', { query: { limit: 100, cursor, ...filters } as never, signal })}
      keyOf={(entity) => `${entity.entity_type}/${entity.entity_id}`}
      to={pathOf}
      filters={[{ name: 'entity_type', label: t('Type'), kind: 'text', width: 150 }, { name: 'state', label: t('State'), options: ['draft', 'published', 'unpublished', 'archived'].map((value) => ({ value, label: t(value) })) }]}
      empty={<Empty title={t('No entities yet')} command={"sexton content put post hello --body '{\"title\": \"Hello\"}'"}>{t('What is published: a post, a product, a banner.')}</Empty>}
    />
  )
}

/** An entity: its state, what is planned, and everything that happened to it. */
export function Entity() {
  const { type = '', id = '' } = useParams()
  const asked = useQuery({ queryKey: ['content', 'entity', type, id], queryFn: () => callExact('GET /content/entities/{entity_type}/{entity_id}', { path: { entity_type: type, entity_id: id } }) })
  return (
    <Answer query={asked}>
      {(entity) => (
        <Page title={`${entity.entity_type}/${entity.entity_id}`} mark={<Status status={entity.state ?? 'pending'} />} crumbs={[{ to: '/content/entities', name: t('Entities') }]}>
          <Columns side>
            <Stack>
              <Panel title={t('History')} flush>
                {(entity.history ?? []).length === 0 ? <Empty title={t('Nothing has happened yet')} /> : (
                  <ul className={classes.history}>{(entity.history ?? []).map((change, index) => (
                    <li key={index}><Time at={change.at} show="both" /><span><strong>{t(change.action)}</strong> {change.state_before ?? '–'} → {change.state_after ?? '–'} {change.version ? `· ${t('version {number}', { number: change.version })}` : ''}</span><span className="quiet">{change.by} {change.run_id && <Link to={`/runs/${change.run_id}`} className="mono">{change.run_id}</Link>}</span></li>
                  ))}</ul>
                )}
              </Panel>
              <Panel title={t('How it was carried out')} flush><Executions rows={entity.executions ?? []} /></Panel>
            </Stack>
            <Stack>
              <Panel title={t('Planned')} flush>{(entity.pending ?? []).length === 0 ? <p className={classes.none}>{t('none')}</p> : <div className={classes.cards}>{(entity.pending ?? []).map((each) => <Card key={each.schedule_id} schedule={each} />)}</div>}</Panel>
              <Panel title={t('Versions')}><ul className={classes.list}>{(entity.versions ?? []).map((version) => <li key={version.version}>{version.version} · {version.created_by} · <Time at={version.created_at} />{version.version === entity.published_version ? <> <Status status="published" /></> : null}</li>)}</ul></Panel>
              <Panel title={t('Body')}><Json value={entity.body} /></Panel>
            </Stack>
          </Columns>
        </Page>
      )}
    </Answer>
  )
}
