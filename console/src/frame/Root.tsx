/**
 * What is around a page: the frame; around the playground, which is open to all, its own head for those who are not
 * signed in. They load no frame.
 */
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Outlet, useLocation } from 'react-router'
import { ApiError, call } from '@/api/client'
import { kept, NAMESPACE } from '@/parts/kept'
import { prefixOf } from './address'

const OPEN = '/playground'
const isOpen = (path: string) => path === OPEN || path === `${OPEN}/`

// Beside the page, not after it.
const begun = isOpen(location.pathname.slice(prefixOf(location.pathname).length)) ? null : import('./Frame')
const Frame = lazy(() => begun ?? import('./Frame'))
const Guest = lazy(() => import('./Guest'))

export function Root() {
  const open = isOpen(useLocation().pathname)
  // A browser in which the console was never shown is asked nothing: it would be refused.
  const known = kept(NAMESPACE) !== null
  const session = useQuery({ queryKey: ['session'], queryFn: () => call('GET /session', {}), staleTime: 60_000, enabled: open && known, retry: (count, error) => !(error instanceof ApiError) && count < 1 })
  if (open && session.isLoading) return null
  return <Suspense fallback={null}>{open && !session.data ? <Guest><Outlet /></Guest> : <Frame />}</Suspense>
}
