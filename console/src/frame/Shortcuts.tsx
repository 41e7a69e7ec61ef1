import { useEffect, useRef } from 'react'
import { useNavigate } from 'react-router'
import { t } from '@/i18n'
import { Dialog } from '@/parts/Dialog'
import { walk } from '@/parts/walk'
import { PLACES } from './nav'
import classes from './Shortcuts.module.css'

const FOLLOW_MS = 1200

/** `/` and Ctrl-K search, `?` lists the keys, `g` and a letter lead to a page, `c` makes a job, `j` and `k` lead through a list. */
export function useKeys({ search, help }: { search: () => void; help: () => void }): void {
  const navigate = useNavigate()
  const leading = useRef(0)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        search()
        return
      }
      const target = event.target as HTMLElement
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest('input:not([type="checkbox"]),textarea,select,[contenteditable],[role="dialog"],[role="menu"],[role="listbox"]')) return
      if (Date.now() - leading.current < FOLLOW_MS) {
        leading.current = 0
        const place = PLACES.find((each) => each.key === event.key)
        if (place) {
          event.preventDefault()
          void navigate(place.to)
        }
        return
      }
      if (event.key === '/') search()
      else if (event.key === '?') help()
      else if (event.key === 'g') leading.current = Date.now()
      else if (event.key === 'c') void navigate('/jobs/new')
      else if (!walk(event.key, target)) return
      event.preventDefault()
    }
    window.addEventListener('keydown', press)
    return () => window.removeEventListener('keydown', press)
  }, [navigate, search, help])
}

export function Shortcuts({ open, close }: { open: boolean; close: () => void }) {
  const general: [string[], string][] = [
    [['/'], t('Search')],
    [['Ctrl', 'K'], t('Search')],
    [['c'], t('New job')],
    [['?'], t('This list')],
    [['Esc'], t('Close')],
  ]
  const table: [string[], string][] = [
    [['j', 'k'], t('To the next row, to the one before')],
    [['x'], t('Select the row')],
    [['Enter'], t('Open or press it')],
    [['Tab'], t('To the next thing that can be used')],
    [['m'], t('On a calendar entry: move it')],
    [['←', '↑', '→', '↓'], t('In the calendar: from day to day')],
  ]
  return (
    <Dialog opened={open} onClose={close} title={<strong>{t('Keys')}</strong>} size="lg">
      <div className={classes.columns}>
        <Keys title={t('Everywhere')} rows={general} />
        <Keys title={t('In lists and calendars')} rows={table} />
        <Keys title={t('Go to')} rows={PLACES.map((place) => [['g', place.key], t(place.name)])} />
      </div>
    </Dialog>
  )
}

function Keys({ title, rows }: { title: string; rows: [string[], string][] }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl className={classes.keys}>
        {rows.map(([keys, meaning]) => (
          <div key={keys.join()}>
            <dt>{keys.map((key) => <kbd key={key}>{key}</kbd>)}</dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
