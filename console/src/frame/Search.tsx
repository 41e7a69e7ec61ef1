/** Search over everything: pages at once, objects from the server as one types. */
import { Modal } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconArrowRight, IconCalendarEvent, IconMail, IconPlayerPlay, IconRepeat, IconSearch, IconSend, IconSkull, IconTemplate, IconUser, type Icon } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useId, useRef, useState, type RefObject } from 'react'
import { useNavigate } from 'react-router'
import { call } from '@/api/client'
import type { Found } from '@/api/schema'
import { t } from '@/i18n'
import { failureText } from '@/parts/failure'
import { Status } from '@/parts/Status'
import { INSIDE, PLACES } from './nav'
import { useSession } from './session'
import classes from './Search.module.css'

interface Hit {
  key: string
  to: string
  title: string
  subtitle: string
  status?: string | null
  icon: Icon
  /** A page of the console, which is known without the server. */
  page?: boolean
}

const ICONS: Record<string, Icon> = { job: IconRepeat, run: IconPlayerPlay, dead: IconSkull, entity: IconCalendarEvent, release: IconCalendarEvent, campaign: IconSend, template: IconTemplate, message: IconMail, recipient: IconUser }

export function pathOf(found: Pick<Found, 'kind' | 'id' | 'title'>): string {
  const id = encodeURIComponent(found.id)
  switch (found.kind) {
    case 'job':
      return `/jobs/${id}`
    case 'run':
      return `/runs/${id}`
    case 'dead':
      return `/dead/${id}`
    case 'queue':
      return `/queues?queue=${id}`
    case 'release':
      return `/content/releases/${id}`
    case 'entity':
      return `/content/entities/${found.id.split('/').map(encodeURIComponent).join('/')}`
    case 'campaign':
      return `/notifications/campaigns/${id}`
    case 'template':
      return `/notifications/templates/${id}`
    case 'message':
      return `/notifications/messages/${id}`
    case 'recipient':
      return `/notifications/recipients/${id}`
    default:
      return `/${found.kind}/${id}`
  }
}

export function Search({ open, close }: { open: boolean; close: () => void }) {
  const [text, setText] = useState('')
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (!open) return
    // What is typed before the field is there, and has the focus, is typed into it.
    const early = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey } = event
      if (key.length !== 1 || ctrlKey || metaKey || altKey || (field.current && document.activeElement === field.current)) return
      event.preventDefault()
      event.stopPropagation()
      setText((before) => before + key)
    }
    window.addEventListener('keydown', early, true)
    return () => {
      window.removeEventListener('keydown', early, true)
      setText('')
    }
  }, [open])
  return (
    <Modal.Root opened={open} onClose={close} padding={0} size={600} yOffset="12vh" centered={false}>
      <Modal.Overlay />
      <Modal.Content aria-label={t('Search')}>
        <Modal.Body p={0}>{open && <Inside text={text} setText={setText} field={field} close={close} />}</Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}

function Inside({ text, setText, field, close }: { text: string; setText: (text: string) => void; field: RefObject<HTMLInputElement | null>; close: () => void }) {
  const session = useSession()
  const navigate = useNavigate()
  const [asked] = useDebouncedValue(text.trim(), 120)
  const [at, setAt] = useState(0)
  const list = useId()
  const found = useQuery({
    queryKey: ['search', asked],
    queryFn: ({ signal }) => call('GET /search', { query: { q: asked, limit: 12 }, signal }),
    enabled: asked.length > 0,
    placeholderData: keepPreviousData,
  })
  const typed = text.trim()
  const hits = hitsOf(typed, asked ? (found.data ?? []) : [], session.mayEverywhere('viewer'))
  // What is listed was found for what was typed before: Enter waits for what is found for this.
  const old = typed !== '' && (asked !== typed || found.isPlaceholderData || found.isLoading)
  const [waiting, setWaiting] = useState(false)
  const chosen = useRef<HTMLLIElement>(null)
  useEffect(() => {
    setAt(0)
    setWaiting(false)
  }, [text])
  useEffect(() => {
    // A promise in newer browsers: no effect may return it.
    void chosen.current?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const go = (hit: Hit | undefined) => {
    if (!hit) return
    close()
    void navigate(hit.to)
  }
  const enter = () => {
    if (old && !hits[at]?.page) setWaiting(true)
    else go(hits[at])
  }
  useEffect(() => {
    if (!waiting || old) return
    setWaiting(false)
    go(hits[at])
  })
  return (
    <div>
      <div className={classes.field}>
        <IconSearch size={16} aria-hidden />
        <input
          ref={field}
          data-autofocus
          autoFocus
          role="combobox"
          aria-expanded={hits.length > 0}
          aria-controls={list}
          aria-activedescendant={hits[at] ? `${list}-${at}` : undefined}
          aria-label={t('Search')}
          placeholder={t('A job, the id of a run, a page…')}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') setAt(Math.min(at + 1, hits.length - 1))
            else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0))
            else if (event.key === 'Enter') enter()
            else return
            event.preventDefault()
          }}
        />
        <kbd>Esc</kbd>
      </div>
      <ul role="listbox" id={list} className={classes.hits} aria-label={t('Results')}>
        {hits.map((hit, index) => (
          <li key={hit.key} ref={index === at ? chosen : null} id={`${list}-${index}`} role="option" aria-selected={index === at} className={classes.hit} onMouseMove={() => setAt(index)} onClick={() => go(hit)}>
            <hit.icon size={16} stroke={1.7} aria-hidden />
            <span className={classes.text}>
              <span className="clip">{hit.title}</span>
              <small className="clip">{hit.subtitle}</small>
            </span>
            {hit.status && <Status status={hit.status} />}
          </li>
        ))}
        {found.error && <li className={classes.none} role="option" aria-selected={false}>{failureText(found.error)}</li>}
        {asked && !found.isFetching && !found.error && hits.length === 0 && <li className={classes.none} role="option" aria-selected={false}>{t('Nothing is called that.')}</li>}
      </ul>
    </div>
  )
}

function hitsOf(text: string, found: Found[], everywhere: boolean): Hit[] {
  const wanted = text.toLowerCase()
  const pages = PLACES.filter((place) => (!place.everywhere || everywhere) && t(place.name).toLowerCase().includes(wanted)).map((place) => ({
    key: place.to,
    to: place.to,
    title: t(place.name),
    subtitle: t('Page'),
    icon: place.icon,
    page: true,
  }))
  const inside = text ? PLACES.flatMap((place) => INSIDE.filter((each) => each.in === place.to && (t(each.name).toLowerCase().includes(wanted))).map((each) => ({ key: each.to, to: each.to, title: t(each.name), subtitle: `${t('Page')} · ${t(place.name)}`, icon: place.icon, page: true }))) : []
  const objects = found.map((each) => ({
    key: `${each.kind}-${each.id}`,
    to: pathOf(each),
    title: each.title,
    subtitle: [t(each.kind), each.subtitle].filter(Boolean).join(' · '),
    status: each.status ?? null,
    icon: ICONS[each.kind] ?? IconArrowRight,
  }))
  return text ? [...objects, ...pages, ...inside] : pages
}
