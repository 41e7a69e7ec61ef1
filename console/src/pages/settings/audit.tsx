/** Who changed what, when and why; each entry with what it was before and is after. */
import { Drawer, UnstyledButton } from '@mantine/core'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo, useState } from 'react'
import { Link } from 'react-router'
import { listed } from '@/api/client'
import type { AuditView } from '@/api/schema'
import { t, tn } from '@/i18n'
import { CopyButton } from '@/parts/Copy'
import { DataTable, type Filters } from '@/parts/DataTable'
import { Empty } from '@/parts/Empty'
import { Json, masked } from '@/parts/Json'
import { Facts } from '@/parts/Page'
import { Time } from '@/parts/Time'
import { changesOf } from './changes'
import { placeOf } from './object'
import classes from './Settings.module.css'

// What is said about them is in docs/security.md; each family is one choice.
const FAMILIES = ['job', 'run', 'dead', 'queue', 'content', 'campaign', 'template', 'recipient', 'notification', 'provider', 'key', 'secret', 'session', 'sign_in', 'namespace', 'setting', 'node', 'shards']

export function Audit() {
  const [open, setOpen] = useState<AuditView | null>(null)
  const columns = useMemo(() => auditColumns(setOpen), [])
  const filters = useMemo(() => [
    { name: 'actor', label: t('Who'), kind: 'text' as const, width: 150 },
    { name: 'action', label: t('What'), width: 140, options: FAMILIES.map((family) => ({ value: `${family}.*`, label: `${family}.*` })) },
    { name: 'object', label: t('Object'), kind: 'text' as const, width: 170 },
    { name: 'since', label: t('Since'), kind: 'since' as const, width: 150 },
  ], [])
  return (
    <>
      <DataTable<AuditView>
        name="audit"
        label={t('Audit')}
        columns={columns}
        load={(chosen: Filters, cursor, signal) => listed('GET /audit', chosen, cursor, signal)}
        keyOf={(entry) => entry.entry_id}
        filters={filters}
        exported="/audit/export"
        steady
        empty={<Empty title={t('Nothing was changed yet')} command="sexton audit list">{t('Each change of a job, a queue, a key or content stands here, with who made it and why.')}</Empty>}
      />
      <Drawer opened={open !== null} onClose={() => setOpen(null)} position="right" size="lg" closeButtonProps={{ 'aria-label': t('Close') }} title={open && <strong>{open.action}</strong>}>{open && <Entry entry={open} />}</Drawer>
    </>
  )
}

function objectOf(entry: AuditView): string {
  return entry.object_name ?? entry.object_id ?? (entry.jobs ? tn('{count} job', '{count} jobs', entry.jobs.length) : '')
}

function ObjectLink({ entry }: { entry: AuditView }) {
  const to = placeOf(entry)
  return to ? <Link className="link clip" to={to}>{objectOf(entry)}</Link> : <span className="clip">{objectOf(entry)}</span>
}

function auditColumns(open: (entry: AuditView) => void): ColumnDef<AuditView>[] {
  return [
    { id: 'at', header: () => t('When'), cell: ({ row: { original: entry } }) => <Time at={entry.at} show="clock" seconds />, meta: { width: 122, narrow: 76, sort: 'at' } },
    { id: 'action', header: () => t('What'), cell: ({ row: { original: entry } }) => <UnstyledButton className={classes.action ?? ''} onClick={() => open(entry)}><code>{entry.action}</code></UnstyledButton>, meta: { width: 190, narrow: 140 } },
    { id: 'object', header: () => t('Object'), cell: ({ row: { original: entry } }) => <ObjectLink entry={entry} /> },
    { id: 'change', header: () => t('Change'), cell: ({ row: { original: entry } }) => <Short entry={entry} />, meta: { hide: 'md' } },
    { id: 'actor', header: () => t('Who'), cell: ({ row: { original: entry } }) => <><strong>{entry.actor}</strong>{entry.face !== entry.actor && <span className="quiet"> {entry.face}</span>}</>, meta: { hide: 'sm', width: 150 } },
    { id: 'reason', header: () => t('Why'), cell: ({ row: { original: entry } }) => <span title={entry.reason ?? ''}>{entry.reason ?? ''}</span>, meta: { hide: 'md', width: 150 } },
  ]
}

/** The first change in a few words. */
function Short({ entry }: { entry: AuditView }) {
  const found = changesOf(masked(entry.before), masked(entry.after))
  const [first] = found
  if (!first) return <span className="quiet">–</span>
  const [path, before, after] = first
  return <span className={classes.short}><span className="quiet">{path}</span> {before !== null && <del>{before}</del>} {after !== null && <ins>{after}</ins>}{found.length > 1 && <span className="quiet">+{found.length - 1}</span>}</span>
}

function Entry({ entry }: { entry: AuditView }) {
  const changes = changesOf(masked(entry.before), masked(entry.after))
  return (
    <div className={classes.entry}>
      <Facts items={[
        [t('When'), <Time key="w" at={entry.at} show="both" seconds />], [t('Who'), entry.actor], [t('Object'), <ObjectLink key="o" entry={entry} />], [t('Why'), entry.reason],
        [t('From'), [entry.face, entry.address].filter(Boolean).join(' ')], [t('Request'), entry.request_id && <code key="r">{entry.request_id}</code>],
      ]} />
      {changes.length > 0 && (
        <table className={classes.changes}>
          <thead><tr><th scope="col">{t('Field')}</th><th scope="col">{t('Before')}</th><th scope="col">{t('After')}</th></tr></thead>
          <tbody>{changes.map(([path, before, after]) => <tr key={path}><td><code>{path}</code></td><td>{before !== null && <del>{before}</del>}</td><td>{after !== null && <ins>{after}</ins>}</td></tr>)}</tbody>
        </table>
      )}
      {entry.detail != null && Object.keys(entry.detail as object).length > 0 && <div><h3>{t('Details')}</h3><Json value={entry.detail} /></div>}
      {entry.hash && <p className={classes.hash}>{t('Chained: its hash covers the entry before it.')} <code>{entry.hash.slice(0, 16)}…</code> <CopyButton text={entry.hash} /></p>}
    </div>
  )
}
