/**
 * The one list. The server pages, filters and sorts; filters and order stand in the address bar, so that a list can be
 * sent to a colleague. Rows are virtual: ten thousand loaded rows cost what thirty cost. A list that arrives `whole` is filtered
 * and sorted here, and is the same for its reader.
 */
import { ActionIcon, Button, Checkbox, Select, Skeleton, TextInput } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconAdjustmentsHorizontal, IconArrowDown, IconArrowUp, IconChevronDown, IconChevronUp, IconSearch, IconX } from '@tabler/icons-react'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { getCoreRowModel, useReactTable, type ColumnDef, type RowData } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { Fragment, useEffect, useMemo, useRef, useState, type ReactNode } from 'react'
import { useNavigate } from 'react-router'
import type { Paged } from '@/api/client'
import { useZone } from '@/frame/session'
import { number, t, tn } from '@/i18n'
import { download } from './download'
import { ExportMenu, saveRows, type Format } from './ExportMenu'
import { FoundField, type Find } from './FoundField'
import { isTired } from './pages'
import { useParameters } from './parameters'
import { useTyped } from './typed'
import { matching, type Sortable, type WholeRows } from './whole'
import { everyRow } from './rows'
import { tell } from './notify'
import { inZones } from './instant'
import { Failure } from './Page'
import classes from './DataTable.module.css'

declare module '@tanstack/react-table' {
  interface ColumnMeta<TData extends RowData, TValue> {
    /** What the server calls this order. */
    sort?: string
    /** The server does not know the reverse of it. */
    oneWay?: boolean
    /** Of a list that arrives whole: what it is sorted by. */
    value?(row: TData): Sortable
    /** Leave the column out below this width. */
    hide?: 'sm' | 'md' | 'lg'
    align?: 'right'
    width?: number | string
    /** Its width on a telephone, if it differs. */
    narrow?: number
    /** Not used: TypeScript wants both type parameters named. */
    _?: [TData, TValue]
  }
}

export interface Filter {
  name: string
  label: string
  /** since: an instant in the past, chosen as a range up to now. found: one of many, offered by `find`. hidden: stands in the address only, as something else on the page sets it. */
  kind?: 'text' | 'choice' | 'since' | 'found' | 'hidden'
  find?: Find
  options?: { value: string; label: string }[]
  width?: number
}
export type Filters = Record<string, string>

/** What was selected: some rows, or all that match. */
export interface Selection<T> {
  rows: T[]
  all: boolean
  count: number
  filters: Filters
}
export interface BulkAction<T> {
  label: string
  icon?: ReactNode
  color?: string
  act(selection: Selection<T>): void
}

interface Props<T> {
  /** The first part of the query's key: see `live`. */
  name: string
  label: string
  /** Shown on the list, where a page has several. */
  title?: string
  columns: ColumnDef<T>[]
  load?(filters: Filters, cursor: string | null, signal: AbortSignal): Promise<Paged<T[]>>
  /** Its first page has this address, and the server sends it when it has changed: see `live`. */
  follow?(filters: Filters): string
  /** Instead of `load`: all rows, which are filtered and sorted here. */
  whole?: WholeRows<T>
  keyOf(row: T): string
  filters?: Filter[]
  /** Filters that are always on, beside those of the address bar. */
  fixed?: Filters
  /** The names of the order and of the text filter in the address bar, where a page has two lists. */
  sortName?: string
  searchName?: string
  to?(row: T): string | null
  bulk?: BulkAction<T>[]
  /** The path of the export, with `format` and the filters: /jobs/export. */
  exported?: string
  empty: ReactNode
  /** As high as its rows instead of the window. */
  short?: boolean
  /** Columns keep the widths they name and share the rest; what is too long is cut. */
  steady?: boolean
  toolbar?: ReactNode
  /** Under the rows: how to get more of a list that arrives whole. */
  below?: ReactNode
}

const [ROW, NARROW_ROW] = [38, 48]
// The first drawing has the right columns already.
const AT_ONCE = { getInitialValueInEffect: false }

/** On a telephone. */
export function useNarrow(): boolean {
  return useMediaQuery('(max-width: 640px)', undefined, AT_ONCE) ?? false
}

export function DataTable<T>({ name, label, title, columns, load, follow, whole, keyOf, filters = [], fixed, sortName = 'sort', searchName = 'search', to, bulk = [], exported, empty, short = whole !== undefined, steady = false, toolbar, below }: Props<T>) {
  const [search, change] = useParameters()
  const navigate = useNavigate()
  const narrow = useNarrow()
  const middle = useMediaQuery('(max-width: 960px)', undefined, AT_ONCE) ?? false
  const large = useMediaQuery('(max-width: 1200px)', undefined, AT_ONCE) ?? false
  const [unfolded, setUnfolded] = useState(false)
  const names = useMemo(() => new Set([...filters.map((filter) => filter.name), sortName]), [filters, sortName])
  const chosen: Filters = { ...fixed }
  for (const [key, value] of search) if (names.has(key)) chosen[key] = value
  const set = (key: string, value: string | null) => change({ [key]: value || null })
  const clear = () => change(Object.fromEntries([...names].map((key) => [key, null])))

  const ask = (cursor: string | null, signal: AbortSignal) => load?.(chosen, cursor, signal) ?? Promise.reject(new Error(`${name} has no rows`))
  const query = useInfiniteQuery({
    queryKey: [name, 'list', label, chosen],
    queryFn: ({ pageParam, signal }) => ask(pageParam, signal),
    enabled: !whole,
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.cursor,
    placeholderData: keepPreviousData,
    ...(follow && { meta: { follow: follow(chosen) } }),
  })
  const filterKey = JSON.stringify(chosen)
  const loaded = useMemo(() => query.data?.pages.flatMap((each) => each.items) ?? [], [query.data])
  const rows = useKept(whole ? matching(whole, chosen, ordersOf(columns), chosen[sortName], searchName) : loaded)
  const first = query.data?.pages[0]
  const total = whole ? (whole.rows?.length ?? null) : (first?.total ?? null)
  const pending = whole ? !whole.rows && !whole.error : query.isPending
  const failure = whole ? whole.error : query.error
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [all, setAll] = useState(false)
  useEffect(() => {
    setSelected(new Set())
    setAll(false)
  }, [filterKey])

  // Columns that have no room are left out, not hidden: a row that spans all of them would bring them back.
  const shown = useMemo(() => columns.filter(({ meta }) => !({ sm: narrow, md: middle, lg: large } as Record<string, boolean>)[meta?.hide ?? '']), [columns, narrow, middle, large])
  // Where no page says more of a row, it is unfolded to show the others.
  const left = short && !to ? columns.filter((column) => !shown.includes(column)) : []
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const table = useReactTable({ data: rows, columns: shown, getCoreRowModel: getCoreRowModel(), getRowId: keyOf })
  const scroller = useRef<HTMLDivElement>(null)
  const modelRows = table.getRowModel().rows
  const virtual = useVirtualizer({
    count: modelRows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (narrow ? NARROW_ROW : ROW),
    overscan: 12,
    enabled: !short,
  })
  const items = short ? modelRows.map((_, index) => ({ index, start: 0, end: 0 })) : virtual.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = query
  const tired = isTired(query.data?.pages ?? [])
  const looking = rows.length === 0 && hasNextPage && !tired && !isFetchNextPageError
  useEffect(() => {
    // A page that failed is asked for by a person: by itself it would be asked for without end.
    if (hasNextPage && !isFetchingNextPage && !isFetchNextPageError && !tired && (looking || (!short && last >= rows.length - 20))) void fetchNextPage()
  }, [short, last, rows.length, looking, tired, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage])

  const before = short ? 0 : (items[0]?.start ?? 0)
  const after = short ? 0 : virtual.getTotalSize() - (items.at(-1)?.end ?? 0)
  const width = shown.length + (bulk.length ? 1 : 0) + (left.length ? 1 : 0)
  const filtered = filters.some((filter) => chosen[filter.name] && !(fixed && filter.name in fixed))
  const visible = filters.filter((filter) => filter.kind !== 'hidden')
  const [foldable, folded] = [narrow && visible.length > 1, narrow && visible.length > 1 && !unfolded]
  const chosenRows = rows.filter((row) => selected.has(keyOf(row)))
  const selection: Selection<T> = { rows: chosenRows, all, count: all ? (total ?? rows.length) : chosenRows.length, filters: chosen }

  /** Of lists that the server does not export by itself: page after page, up to so many rows. */
  const exportRows = async (format: Format) => {
    const { items, cut } = whole ? { items: rows, cut: false } : await everyRow(ask)
    saveRows(items, label, format)
    if (cut) tell(tn('The first {count} row was exported; narrow the filters to get the others', 'The first {count} rows were exported; narrow the filters to get the others', items.length))
  }

  /** By the server, which has an order of its own. */
  const exportAll = (path: string, format: Format) => {
    const { [sortName]: _, ...filters } = chosen
    return download(path, { ...filters, format }, `${name}.${format}`)
  }

  return (
    <section className={classes.table} aria-label={label}>
      <div className={classes.bar}>
        {title && <h2 className={classes.title}>{title}</h2>}
        {visible.slice(0, folded ? 1 : undefined).map((filter) => (
          <FilterField key={filter.name} filter={filter} value={chosen[filter.name] ?? ''} set={(value) => set(filter.name, value)} />
        ))}
        {foldable && (
          <ActionIcon variant={folded && visible.slice(1).some(({ name }) => chosen[name]) ? 'light' : 'default'} color="bronze" aria-label={t('Filters')} aria-expanded={!folded} onClick={() => setUnfolded((before) => !before)}><IconAdjustmentsHorizontal size={16} /></ActionIcon>
        )}
        {filtered && (
          <Button variant="subtle" color="gray" leftSection={<IconX size={13} />} onClick={clear}>
            {t('Clear')}
          </Button>
        )}
        <span className={classes.end}>
        {toolbar}
        <span className={classes.count} aria-live="polite">{pending ? '' : counted(rows.length, total, first?.estimated ?? false, whole ? rows.length !== total : query.hasNextPage)}</span>
        {exported
          ? <ExportMenu formats={['csv', 'json', 'jsonl']} write={(format) => exportAll(exported, format)} />
          : rows.length > 0 && <ExportMenu write={exportRows} />}
        </span>
      </div>
      {bulk.length > 0 && selection.count > 0 && (
        <div className={classes.selection} role="region" aria-label={t('Selection')}>
          <strong className="num">{all && total === null ? t('All that match are selected') : tn('{count} selected', '{count} selected', selection.count)}</strong>
          {!all && !whole && chosenRows.length === rows.length && (total === null ? hasNextPage : total > rows.length) && (
            <Button variant="subtle" onClick={() => setAll(true)}>{total === null ? t('Select all that match') : tn('Select all {count} that match', 'Select all {count} that match', total)}</Button>
          )}
          <span className={classes.space} />
          {bulk.map((action) => (
            <Button key={action.label} variant="default" leftSection={action.icon} {...(action.color ? { c: action.color } : {})} onClick={() => action.act(selection)}>
              {action.label}
            </Button>
          ))}
          <ActionIcon aria-label={t('Clear the selection')} onClick={() => { setSelected(new Set()); setAll(false) }}><IconX size={14} /></ActionIcon>
        </div>
      )}
      {failure && rows.length === 0 ? (
        <Failure error={failure} />
      ) : !pending && !looking && rows.length === 0 ? (
        hasNextPage ? <div className={classes.none}>{t('Nothing was found so far; there is more to look through.')}</div> : filtered ? <div className={classes.none}>{t('Nothing matches these filters.')}</div> : empty
      ) : (
        <div ref={scroller} className={short ? classes.shortScroller : classes.scroller} tabIndex={0} role="group" aria-label={label} data-rows>
          <table data-steady={steady || undefined}>
            <thead>
              {table.getHeaderGroups().map((group) => (
                <tr key={group.id}>
                  {bulk.length > 0 && (
                    <th className={classes.check} scope="col">
                      <Checkbox
                        aria-label={t('Select all rows that are loaded')}
                        checked={rows.length > 0 && (all || chosenRows.length === rows.length)}
                        indeterminate={!all && chosenRows.length > 0 && chosenRows.length < rows.length}
                        onChange={(event) => { setSelected(new Set(event.currentTarget.checked ? rows.map(keyOf) : [])); setAll(false) }}
                      />
                    </th>
                  )}
                  {group.headers.map((header) => {
                    const meta = header.column.columnDef.meta
                    const content = drawn(header.column.columnDef.header, header.getContext())
                    return (
                      <th key={header.id} scope="col" data-align={meta?.align} style={{ width: narrow && meta?.narrow ? meta.narrow : meta?.width }} {...sorted(meta?.sort, chosen[sortName])}>
                        {meta?.sort ? <SortButton sort={meta.sort} oneWay={meta.oneWay ?? false} current={chosen[sortName]} set={(value) => set(sortName, value)}>{content}</SortButton> : content}
                      </th>
                    )
                  })}
                  {left.length > 0 && <th scope="col" className={classes.unfold}><span className="hidden-label">{t('More')}</span></th>}
                </tr>
              ))}
            </thead>
            <tbody aria-busy={pending || looking}>
              {(pending || looking) && Array.from({ length: short ? 3 : 8 }, (_, index) => <tr key={index}><td colSpan={width}><Skeleton height={10} width={`${70 - (index % 4) * 11}%`} aria-label={t('Loading')} /></td></tr>)}
              {before > 0 && <tr aria-hidden style={{ height: before }}><td colSpan={width} /></tr>}
              {items.map(({ index }) => {
                const row = modelRows[index]
                if (!row) return null
                const key = row.id
                const target = to?.(row.original) ?? null
                return (
                  <Fragment key={key}>
                  <tr
                    // The keys lead from row to row: see `parts/walk`.
                    data-row
                    // Rows with two lines, and those of a telephone, are higher than others.
                    {...(!short && { ref: virtual.measureElement, 'data-index': index })}
                    tabIndex={-1}
                    data-selected={selected.has(key) || all || undefined}
                    data-link={target !== null || undefined}
                    onClick={(event) => {
                      if (target && !(event.target as HTMLElement).closest('a,button,input,label')) void navigate(target)
                    }}
                  >
                    {bulk.length > 0 && (
                      <td className={classes.check}>
                        <Checkbox
                          aria-label={t('Select this row')}
                          checked={all || selected.has(key)}
                          onChange={(event) => {
                            setSelected(toggled(selected, key, event.currentTarget.checked))
                            setAll(false)
                          }}
                        />
                      </td>
                    )}
                    {row.getVisibleCells().map((cell) => (
                      <td key={cell.id} data-align={cell.column.columnDef.meta?.align}>
                        {drawn(cell.column.columnDef.cell, cell.getContext())}
                      </td>
                    ))}
                    {left.length > 0 && (
                      <td className={classes.unfold}>
                        <ActionIcon aria-label={open.has(key) ? t('Less') : t('More')} aria-expanded={open.has(key)} onClick={() => setOpen(toggled(open, key))}>{open.has(key) ? <IconChevronUp size={16} /> : <IconChevronDown size={16} />}</ActionIcon>
                      </td>
                    )}
                  </tr>
                  {left.length > 0 && open.has(key) && (
                    <tr>
                      <td colSpan={width} className={classes.left}>
                        <dl>{left.map((column) => <div key={column.id}><dt>{drawn(column.header as Drawing, { column })}</dt><dd>{drawn(column.cell as Drawing, { row })}</dd></div>)}</dl>
                      </td>
                    </tr>
                  )}
                  </Fragment>
                )
              })}
              {after > 0 && <tr aria-hidden style={{ height: after }}><td colSpan={width} /></tr>}
            </tbody>
          </table>
        </div>
      )}
      {isFetchNextPageError && rows.length > 0 && <Failure error={query.error} />}
      {(below || ((short || tired || isFetchNextPageError) && hasNextPage)) && (
        <div className={classes.more}>
          {below || <Button variant="subtle" color="gray" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>{isFetchNextPageError ? t('Try again') : t('Show more')}</Button>}
        </div>
      )}
    </section>
  )
}

/** A head or a cell. It is called, not made a component: columns that a page makes anew each time keep what is in them, and a click is not lost. */
function drawn<C>(what: string | ((context: C) => unknown) | undefined, context: C): ReactNode {
  return (typeof what === 'function' ? what(context) : what) as ReactNode
}

/** A head or a cell that is drawn outside of the table's own columns: it asks for no more than its column, or its row. */
type Drawing = string | ((context: unknown) => unknown) | undefined

function toggled(keys: ReadonlySet<string>, key: string, on = !keys.has(key)): ReadonlySet<string> {
  const next = new Set(keys)
  if (on) next.add(key)
  else next.delete(key)
  return next
}

/** Filters of what is no table: their fields, with the values of the address bar. */
export function FilterBar({ filters }: { filters: Filter[] }) {
  const [search, change] = useParameters()
  return <div className={classes.filters} role="search">{filters.map((filter) => <FilterField key={filter.name} filter={filter} value={search.get(filter.name) ?? ''} set={(value) => change({ [filter.name]: value || null })} />)}</div>
}

function FilterField({ filter, value, set }: { filter: Filter; value: string; set: (value: string | null) => void }) {
  const [text, type] = useTyped(value, set)
  if (filter.kind === 'text') {
    return (
      <TextInput
        aria-label={filter.label}
        placeholder={filter.label}
        leftSection={<IconSearch size={14} />}
        w={filter.width ?? 220}
        value={text}
        onChange={(event) => type(event.currentTarget.value)}
      />
    )
  }
  if (filter.find) return <FoundField name={filter.name} label={filter.label} width={filter.width ?? 180} value={value} set={set} find={filter.find} />
  if (filter.kind === 'since') return <SinceField filter={filter} value={value} set={set} />
  return (
    <Select aria-label={filter.label} placeholder={filter.label} data={filter.options ?? []} value={value || null} onChange={set} clearable w={filter.width ?? 140} />
  )
}

/** Ranges up to now; an instant that came with the address stands as what it is. */
function SinceField({ filter, value, set }: { filter: Filter; value: string; set: (value: string | null) => void }) {
  const zone = useZone()
  const ranges = [['900', t('Last 15 minutes')], ['3600', t('Last hour')], ['86400', t('Last day')], ['604800', t('Last 7 days')]] as const
  const given = value && !Number.isNaN(new Date(value).getTime()) ? [{ value, label: t('since {time}', { time: inZones(new Date(value), [zone], new Date()) }) }] : []
  return (
    <Select
      aria-label={filter.label}
      placeholder={filter.label}
      data={[...given, ...ranges.map(([seconds, label]) => ({ value: seconds, label }))]}
      value={value || null}
      onChange={(chosen) => set(chosen && /^\d+$/.test(chosen) ? new Date(Date.now() - Number(chosen) * 1000).toISOString() : chosen)}
      clearable
      w={filter.width ?? 160}
    />
  )
}

function SortButton({ sort, oneWay, current, set, children }: { sort: string; oneWay: boolean; current: string | undefined; set: (value: string | null) => void; children: ReactNode }) {
  const rising = current === sort
  const falling = current === `-${sort}`
  return (
    <button type="button" className={classes.sort} onClick={() => set(!rising ? sort : oneWay ? null : `-${sort}`)}>
      {children}
      {rising && <IconArrowUp size={12} aria-hidden />}
      {falling && <IconArrowDown size={12} aria-hidden />}
    </button>
  )
}

function sorted(sort: string | undefined, current: string | undefined): { 'aria-sort'?: 'ascending' | 'descending' } {
  if (!sort) return {}
  return current === sort ? { 'aria-sort': 'ascending' } : current === `-${sort}` ? { 'aria-sort': 'descending' } : {}
}

/** The same rows are the same array: the table begins anew with another one. */
function useKept<T>(rows: T[]): T[] {
  const kept = useRef(rows)
  if (kept.current !== rows && !(kept.current.length === rows.length && rows.every((row, place) => row === kept.current[place]))) kept.current = rows
  return kept.current
}

/** What each order of a list that arrives whole compares. */
function ordersOf<T>(columns: ColumnDef<T>[]): Record<string, (row: T) => Sortable> {
  return Object.fromEntries(columns.flatMap(({ meta }) => (meta?.sort && meta.value ? [[meta.sort, meta.value]] : [])))
}

/** “100 of 4,312”, “100 of about 1.2 M”, “100+”. */
export function counted(loaded: number, total: number | null, estimated: boolean, more: boolean): string {
  if (total === null) return more ? `${number(loaded)}+` : number(loaded)
  if (!more && !estimated) return number(Math.max(total, loaded))
  // An estimate is not known to the last row.
  const digits = 10 ** Math.max(0, Math.floor(Math.log10(total)) - 1)
  const told = estimated ? Math.round(total / digits) * digits : total
  return t(estimated ? '{loaded} of about {total}' : '{loaded} of {total}', { loaded: number(loaded), total: number(Math.max(told, loaded)) })
}
