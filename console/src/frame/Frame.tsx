/** What every page has: navigation, the bar on top, banners, search, the list of keys. */
import { ActionIcon, Drawer } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconBook2, IconMenu2, IconSearch } from '@tabler/icons-react'
import { Suspense, useEffect } from 'react'
import { Link, NavLink, Outlet, useLocation } from 'react-router'
import icon from '@/icon.svg'
import { number, t } from '@/i18n'
import { Failure } from '@/parts/Page'
import { Banner } from './Banner'
import { ClockMenu } from './ClockMenu'
import { LiveMark } from './LiveMark'
import { NamespaceMenu } from './NamespaceMenu'
import { GROUPS, PLACES, type Place } from './nav'
import { Search } from './Search'
import { SessionProvider, useLiveState, useSession } from './session'
import { Shortcuts, useKeys } from './Shortcuts'
import { UserMenu } from './UserMenu'
import { Boundary } from './Boundary'
import classes from './Frame.module.css'

const SEARCH_KEYS = /Mac/.test(navigator.platform) ? '⌘K' : 'Ctrl K'

export default function Frame() {
  return (
    <SessionProvider waiting={<Opening />} failed={(error) => <div className={classes.alone}><Failure error={error} /></div>}>
      <Shell />
    </SessionProvider>
  )
}

function Shell() {
  const [menu, { open: openMenu, close: closeMenu }] = useDisclosure(false)
  const [search, { open: openSearch, close: closeSearch }] = useDisclosure(false)
  const [help, { open: openHelp, close: closeHelp }] = useDisclosure(false)
  const location = useLocation()
  useKeys({ search: openSearch, help: openHelp })
  useEffect(closeMenu, [location.pathname, closeMenu])
  return (
    <div className={classes.frame}>
      <a href="#content" className={classes.skip}>{t('Skip to the content')}</a>
      <aside className={classes.nav}><Navigation /></aside>
      <Drawer opened={menu} onClose={closeMenu} size={260} padding="xs" title={<Brand />} closeButtonProps={{ 'aria-label': t('Close') }}><Navigation inDrawer /></Drawer>
      <header className={classes.top}>
        <ActionIcon className={classes.burger} aria-label={t('Open the navigation')} onClick={openMenu}><IconMenu2 size={18} /></ActionIcon>
        <NamespaceMenu />
        <button type="button" className={classes.search} onClick={openSearch}>
          <IconSearch size={14} aria-hidden />
          <span>{t('Search jobs, runs, pages')}</span>
          <kbd>{SEARCH_KEYS}</kbd>
        </button>
        <span className={classes.space} />
        <LiveMark />
        <ClockMenu />
        <UserMenu help={openHelp} />
      </header>
      <main id="content" className={classes.content} tabIndex={-1}>
        <Banner />
        <Boundary key={location.pathname}>
          <Suspense fallback={<div className={classes.progress} role="status" aria-label={t('Loading')} />}>
            <Outlet />
          </Suspense>
        </Boundary>
      </main>
      <Search open={search} close={closeSearch} />
      <Shortcuts open={help} close={closeHelp} />
    </div>
  )
}

function Brand() {
  return <span className={classes.brand}><img src={icon} alt="" width={22} height={22} />Sexton</span>
}

function Navigation({ inDrawer = false }: { inDrawer?: boolean }) {
  const session = useSession()
  const places = PLACES.filter((place) => !place.everywhere || session.mayEverywhere('viewer'))
  return (
    <nav aria-label={t('Pages')} className={classes.places}>
      {!inDrawer && <Link to="/" className={classes.home}><Brand /></Link>}
      {(Object.keys(GROUPS) as Place['group'][]).map((group) => (
        <div key={group} className={classes.group}>
          <span className={classes.groupName}>{t(GROUPS[group])}</span>
          {places.filter((place) => place.group === group).map((place) => <Entry key={place.to} place={place} />)}
        </div>
      ))}
      <span className={classes.space} />
      <div className={classes.group}>
        <a className={classes.entry} href="/docs"><IconBook2 size={16} stroke={1.7} aria-hidden /><span>{t('API documentation')}</span></a>
      </div>
    </nav>
  )
}

function Entry({ place }: { place: Place }) {
  const live = useLiveState()
  const count = place.count ? (live.overview?.[place.count] ?? 0) : 0
  return (
    <NavLink to={place.to} end={place.to === '/'} className={classes.entry ?? ''}>
      <place.icon size={16} stroke={1.7} aria-hidden />
      <span>{t(place.name)}</span>
      {count > 0 && <span className={classes.figure} data-bad={place.count === 'dead' || undefined}>{number(count)}</span>}
    </NavLink>
  )
}

function Opening() {
  return <div className={classes.progress} role="status" aria-label={t('Loading')} />
}
