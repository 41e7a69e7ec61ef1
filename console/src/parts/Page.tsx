/** The head of a page, and the panels on it. */
import { Skeleton } from '@mantine/core'
import { IconAlertTriangle, IconChevronRight } from '@tabler/icons-react'
import { useEffect, type ReactNode } from 'react'
import { Link } from 'react-router'
import { ApiError } from '@/api/client'
import { t } from '@/i18n'
import { failureText, failureTitle } from './failure'
import classes from './Page.module.css'

interface Crumb {
  to: string
  name: string
}
interface Props {
  title: string
  /** Beside the title: a state, an id. */
  mark?: ReactNode
  /** Under the title, in a line. */
  about?: ReactNode
  crumbs?: Crumb[]
  actions?: ReactNode
  children: ReactNode
  wide?: boolean
}

export function Page({ title, mark, about, crumbs = [], actions, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Sexton`
  }, [title])
  return (
    <div className={classes.page}>
      <header className={classes.head}>
        <div className={classes.titles}>
          {crumbs.length > 0 && (
            <nav className={classes.crumbs} aria-label={t('Path')}>
              {crumbs.map((crumb) => (
                <span key={crumb.to} className={classes.crumb}>
                  <Link to={crumb.to}>{crumb.name}</Link>
                  <IconChevronRight size={12} aria-hidden />
                </span>
              ))}
            </nav>
          )}
          <div className={classes.title}>
            <h1>{title}</h1>
            {mark}
          </div>
          {about && <div className={classes.about}>{about}</div>}
        </div>
        {actions && <div className={classes.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export function Panel({ title, right, children, flush = false, label }: { title?: ReactNode; right?: ReactNode; children: ReactNode; flush?: boolean; label?: string }) {
  return (
    <section className={classes.panel} aria-label={label ?? (typeof title === 'string' ? title : undefined)}>
      {(title || right) && (
        <header className={classes.panelHead}>
          <h2>{title}</h2>
          {right && <div className={classes.panelRight}>{right}</div>}
        </header>
      )}
      <div className={flush ? classes.flush : classes.body}>{children}</div>
    </section>
  )
}

/** Names and values, in columns that wrap. `brief`: without what has no value. */
export function Facts({ items, brief = false }: { items: [ReactNode, ReactNode][]; brief?: boolean }) {
  const shown = brief ? items.filter(([, value]) => value !== null && value !== undefined && value !== '') : items
  return (
    <dl className={classes.facts}>
      {shown.map(([name, value], index) => (
        <div key={index}>
          <dt>{name}</dt>
          <dd>{value ?? <span className="quiet">–</span>}</dd>
        </div>
      ))}
    </dl>
  )
}

export function Columns({ children, side }: { children: ReactNode; side?: boolean }) {
  return <div className={side ? classes.side : classes.columns}>{children}</div>
}

export function Stack({ children }: { children: ReactNode }) {
  return <div className={classes.stack}>{children}</div>
}

/** Waiting, an error with the server's own words, or the content. */
export function Answer<T>({ query, children, lines = 4 }: { query: { data: T | undefined; error: unknown }; children: (data: T) => ReactNode; lines?: number }) {
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error) return <Failure error={query.error} />
  return (
    <div className={classes.waiting} aria-busy="true" aria-label={t('Loading')}>
      {Array.from({ length: lines }, (_, index) => (
        <Skeleton key={index} height={14} width={`${90 - index * 12}%`} />
      ))}
    </div>
  )
}

/** The page of one thing. Without it, a page that says so, with a way back to the list. */
export function PageOf<T>({ query, list, children, lines = 6 }: { query: { data: T | undefined; error: unknown }; list: Crumb; children: (data: T) => ReactNode; lines?: number }) {
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error) return <Page title={failureTitle(query.error)} crumbs={[list]}><Panel flush><Failure error={query.error} untitled /></Panel></Page>
  return <div className={classes.page}><Answer query={query} lines={lines}>{children}</Answer></div>
}

/** `untitled`: where the page is called so. `title`: what is wrong, where that is known; the hint, which speaks to programs, is left out then. */
export function Failure({ error, untitled = false, title }: { error: unknown; untitled?: boolean; title?: string | undefined }) {
  const known = error instanceof ApiError
  return (
    <div className={classes.failure} role="alert">
      <IconAlertTriangle size={18} aria-hidden />
      <div>
        {!untitled && <strong>{title ?? failureTitle(error)}</strong>}
        <p>{failureText(error)}</p>
        {known && error.hint && !title && <p className="quiet">{error.hint}</p>}
      </div>
    </div>
  )
}
