import { IconEye } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import { Link, useParams } from 'react-router'
import { callExact, listed } from '@/api/client'
import type { EntitySummary } from '@/api/schema'
import { t } from '@/i18n'
import { DataTable, type Filters } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { Json } from '@/parts/Json'
import { Columns, Page, PageOf, Panel, Stack } from '@/parts/Page'
import { Status } from '@/parts/Status'
import { Time } from '@/parts/Time'
import { ACTIONS, Card, nameOf } from './Board'
import { Executions } from './executions'
import classes from './Content.module.css'

const WAS: Record<string, string> = { publish: 'Published', unpublish: 'Unpublished', archive: 'Archived' }
const pathOf = (entity: { entity_type: string; entity_id: string }) => `/content/entities/${encodeURIComponent(entity.entity_type)}/${encodeURIComponent(entity.entity_id)}`

export function Entities() {
  const columns = useMemo((): ColumnDef<EntitySummary>[] => [
    { id: 'entity', header: () => t('Entity'), cell: ({ row: { original: entity } }) => <Link to={pathOf(entity)} className="link">{nameOf(entity)}</Link> },
    { id: 'reference', header: () => t('Reference'), cell: ({ row: { original: entity } }) => <code>{entity.entity_type}/{entity.entity_id}</code>, meta: { sort: 'entity', hide: 'sm' } },
    { id: 'state', header: () => t('State'), cell: ({ row: { original: entity } }) => <Status status={entity.state} />, meta: { width: 124, narrow: 112 } },
    { id: 'published', header: () => t('Published version'), cell: ({ row: { original: entity } }) => entity.published_version ?? '–', meta: { align: 'right', hide: 'md', width: 136 } },
    { id: 'latest', header: () => t('Latest version'), cell: ({ row: { original: entity } }) => entity.latest_version, meta: { align: 'right', hide: 'md', width: 116 } },
    { id: 'updated', header: () => t('Changed'), cell: ({ row: { original: entity } }) => <Time at={entity.updated_at} show="both" />, meta: { width: 196, hide: 'sm' } },
  ], [])
  return (
    <DataTable<EntitySummary>
      name="content"
      label={t('Entities')}
      columns={columns}
      load={(filters: Filters, cursor, signal) => listed('GET /content/entities', filters, cursor, signal)}
      keyOf={(entity) => `${entity.entity_type}/${entity.entity_id}`}
      to={pathOf}
      steady
      filters={[{ name: 'search', label: t('Beginning of the id'), kind: 'text', width: 180 }, { name: 'entity_type', label: t('Type'), kind: 'text', width: 150 }, { name: 'state', label: t('State'), options: ['draft', 'published', 'unpublished', 'archived'].map((value) => ({ value, label: t(value) })) }]}
      empty={<Empty title={t('No entities yet')} command={"sexton content entities post/hello --body '{\"title\": \"Hello\"}'"}>{t('What is published: a post, a product, a banner.')}</Empty>}
    />
  )
}

/** As its latest version calls it. */
function titleOf(entity: { entity_type: string; entity_id: string; body?: unknown }): string {
  const body = entity.body as { title?: unknown; name?: unknown } | null | undefined
  const title = body && typeof body === 'object' ? (body.title ?? body.name) : null
  return nameOf({ ...entity, title: typeof title === 'string' ? title : null })
}

/** An entity: its state, what is planned, and everything that happened to it. */
export function Entity() {
  const { type = '', id = '' } = useParams()
  const asked = useQuery({ queryKey: ['content', 'entity', type, id], queryFn: () => callExact('GET /content/entities/{entity_type}/{entity_id}', { path: { entity_type: type, entity_id: id } }) })
  return (
    <PageOf query={asked} list={{ to: '/content/entities', name: t('Entities') }}>
      {(entity) => (
        <Page title={titleOf(entity)} mark={<><Status status={entity.state ?? 'pending'} /><code className="quiet">{entity.entity_type}/{entity.entity_id}</code></>} crumbs={[{ to: '/content/entities', name: t('Entities') }]}>
          <Columns side>
            <Stack>
              <Panel title={t('History')} flush>
                {(entity.history ?? []).length === 0 ? <Empty title={t('Nothing has happened yet')} /> : (
                  <ol className={classes.history}>{(entity.history ?? []).map((change, index) => {
                    const Action = ACTIONS[change.action] ?? IconEye
                    return (
                      <li key={index}>
                        <span className={classes.sign} data-tone={change.action === 'publish' ? 'good' : 'idle'} aria-hidden><Action size={13} /></span>
                        <span><strong>{t(WAS[change.action] ?? change.action)}</strong>{change.version ? ` · ${t('version {number}', { number: change.version })}` : ''}</span>
                        <Time at={change.at} show="both" />
                        <p>{change.state_before ? t(change.state_before) : '–'} → {change.state_after ? t(change.state_after) : '–'} · {t('planned by {name}', { name: change.by })}{change.run_id && <> · <Link to={`/runs/${change.run_id}`} className="mono">{change.run_id}</Link></>}</p>
                      </li>
                    )
                  })}</ol>
                )}
              </Panel>
              <Panel title={t('How it was carried out')} flush><Executions rows={entity.executions ?? []} /></Panel>
            </Stack>
            <Stack>
              <Panel title={t('Planned')} flush>{(entity.pending ?? []).length === 0 ? <p className={classes.none}>{t('none')}</p> : <div className={`${classes.cards} ${classes.own}`}>{(entity.pending ?? []).map((each) => <Card key={each.schedule_id} schedule={each} />)}</div>}</Panel>
              <Panel title={t('Versions')}><ul className={classes.list}>{(entity.versions ?? []).map((version) => <li key={version.version}>{version.version} · {version.created_by} · <Time at={version.created_at} />{version.version === entity.published_version ? <> <Status status="published" /></> : null}</li>)}</ul></Panel>
              <Panel title={t('Body')}><Json value={entity.body} /></Panel>
            </Stack>
          </Columns>
        </Page>
      )}
    </PageOf>
  )
}
