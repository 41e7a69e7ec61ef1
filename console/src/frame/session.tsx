/** Who looks at the console, in which namespace, and the stream of changes. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from 'react'
import { ApiError, call, isRefused, setSession } from '@/api/client'
import { LiveFeed, useLive, type Live } from '@/api/live'
import type { CallerView, Role } from '@/api/schema'
import { browserZone, validZone, type ZoneChoice } from '@/parts/instant'
import { keep, kept, NAMESPACE } from '@/parts/kept'
import { DEFAULT, inNamespace, listIn, namespaceIn } from './address'

const RANK: Record<Role, number> = { viewer: 0, worker: 0, operator: 1, editor: 2, admin: 3 }
/** In the roles of a caller and of a key: all namespaces. */
export const EVERYWHERE = '*'
const ZONE = 'sexton.zone'
const LONGEST_WAIT_MS = 10_000
// Until then it may be a moment without a network.
const TOLD_AFTER = 3

export interface Session {
  caller: CallerView
  namespace: string
  setNamespace(name: string): void
  /** Whether the caller may do what needs this role here. */
  may(role: Role): boolean
  /** Whether the caller may see, or with `admin` change, what concerns all namespaces. */
  mayEverywhere(role: Role): boolean
  feed: LiveFeed
  zoneChoice: ZoneChoice
  setZoneChoice(choice: ZoneChoice): void
}

const Here = createContext<Session | null>(null)

export function useSession(): Session {
  const found = useContext(Here)
  if (!found) throw new Error('there is no session here')
  return found
}

export function useLiveState(): Live {
  return useLive(useSession().feed)
}

/** The zone in which times are shown, given that of the job at hand. */
export function useZone(jobZone?: string | null): string {
  const choice = useContext(Here)?.zoneChoice ?? 'mine'
  return choice === 'utc' ? 'UTC' : choice === 'job' && jobZone ? jobZone : browserZone()
}

/** Both zones of a time: that of the job, and that of the reader, which is UTC if that was chosen. One if they are the same. */
export function useZones(jobZone: string | null | undefined): string[] {
  const choice = useContext(Here)?.zoneChoice ?? 'mine'
  return [...new Set([validZone(jobZone), choice === 'utc' ? 'UTC' : browserZone()])]
}

export function SessionProvider({ children, waiting, failed }: { children: ReactNode; waiting: ReactNode; failed: (error: unknown) => ReactNode }) {
  const queries = useQueryClient()
  const [zoneChoice, chooseZone] = useState<ZoneChoice>(() => (kept(ZONE) as ZoneChoice | null) ?? 'mine')
  const feed = useMemo(() => new LiveFeed(queries), [queries])
  const asked = useQuery({
    queryKey: ['session'],
    queryFn: () => call('GET /session', {}),
    staleTime: 60_000,
    // Without it there is no stream that would tell when the server is back.
    retry: (_, error) => !isRefused(error),
    retryDelay: (count) => Math.min(1000 * 2 ** count, LONGEST_WAIT_MS),
  })
  const caller = asked.data
  const named = namespaceIn(location.pathname)
  const chosen = caller ? (named ?? startingNamespace(caller, location.pathname === '/' ? kept(NAMESPACE) : null)) : null
  const elsewhere = chosen !== null && chosen !== (named ?? DEFAULT)
  if (caller) setSession({ csrf: caller.csrf_token ?? null, namespace: chosen })

  useEffect(() => {
    if (!chosen) return
    if (elsewhere) {
      location.replace(inNamespace(location.pathname, chosen) + location.search)
      return
    }
    keep(NAMESPACE, chosen)
    feed.open()
    // A browser knows at once what a silent connection tells after a while only.
    const again = () => {
      if (feed.read().state !== 'paused') feed.open()
    }
    window.addEventListener('offline', again)
    window.addEventListener('online', again)
    return () => {
      window.removeEventListener('offline', again)
      window.removeEventListener('online', again)
      feed.close()
    }
  }, [feed, chosen, elsewhere])

  useEffect(() => {
    if (asked.error instanceof ApiError && asked.error.status === 401) {
      const next = location.pathname + location.search
      location.assign(`/sign-in?next=${encodeURIComponent(next)}`)
    }
  }, [asked.error])

  // A server that is away takes no page away, nor what is typed there: the banner tells.
  const failure = asked.error ?? (!caller && asked.failureCount >= TOLD_AFTER ? asked.failureReason : null)
  if (failure) return failed(failure)
  if (!caller || !chosen || elsewhere) return waiting
  const role = caller.roles[chosen] ?? caller.roles[EVERYWHERE]
  const everywhere = caller.roles[EVERYWHERE]
  const session: Session = {
    caller,
    namespace: chosen,
    setNamespace(name) {
      keep(NAMESPACE, name)
      location.assign(listIn(location.pathname, name))
    },
    may: (needed) => allows(role, needed) || allows(everywhere, needed),
    mayEverywhere: (needed) => allows(everywhere, needed),
    feed,
    zoneChoice,
    setZoneChoice(choice) {
      keep(ZONE, choice)
      chooseZone(choice)
    },
  }
  return <Here value={session}>{children}</Here>
}

export function allows(role: Role | undefined, needed: Role): boolean {
  return role !== undefined && RANK[role] >= RANK[needed]
}

/** The namespace of an address that names none: that which is wanted, if the caller has it; else `default`, else the first. */
export function startingNamespace(caller: CallerView, wanted: string | null): string {
  const everywhere = EVERYWHERE in caller.roles
  if (wanted && (everywhere || wanted in caller.roles)) return wanted
  if (everywhere || 'default' in caller.roles) return 'default'
  return Object.keys(caller.roles)[0] ?? 'default'
}
