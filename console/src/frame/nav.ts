/** The pages, in the order of the navigation. The keys after `g` lead to them. */
import {
  IconAntenna, IconCalendar, IconFlask, IconHome, IconNews, IconPlayerPlay, IconRepeat, IconSend, IconServer2, IconSettings, IconSkull, type Icon,
} from '@tabler/icons-react'

export interface Place {
  to: string
  name: string
  icon: Icon
  key: string
  group: 'run' | 'plan' | 'system'
  /** Only for those who may see all namespaces. */
  everywhere?: boolean
  /** The figure of the overview beside the name. */
  count?: 'dead' | 'running' | 'queue_depth'
}

export const PLACES: Place[] = [
  { to: '/', name: 'Overview', icon: IconHome, key: 'o', group: 'run' },
  { to: '/jobs', name: 'Jobs', icon: IconRepeat, key: 'j', group: 'run' },
  { to: '/runs', name: 'Runs', icon: IconPlayerPlay, key: 'r', group: 'run', count: 'running' },
  { to: '/dead', name: 'Dead letters', icon: IconSkull, key: 'd', group: 'run', count: 'dead' },
  { to: '/calendar', name: 'Calendar', icon: IconCalendar, key: 'c', group: 'plan' },
  { to: '/content', name: 'Content', icon: IconNews, key: 'e', group: 'plan' },
  { to: '/notifications', name: 'Notifications', icon: IconSend, key: 'n', group: 'plan' },
  { to: '/queues', name: 'Queues and workers', icon: IconAntenna, key: 'q', group: 'system' },
  { to: '/cluster', name: 'Cluster', icon: IconServer2, key: 'x', group: 'system', everywhere: true },
  { to: '/settings', name: 'Settings', icon: IconSettings, key: 's', group: 'system' },
  { to: '/playground', name: 'Playground', icon: IconFlask, key: 'p', group: 'system' },
]
/** What search finds, too: the parts of pages that have several. */
export const INSIDE: { to: string; in: string; name: string }[] = [
  { to: '/jobs/new', in: '/jobs', name: 'New job' },
  { to: '/content/board', in: '/content', name: 'Board' },
  { to: '/content/planned?status=pending', in: '/content', name: 'Planned actions' },
  { to: '/content/windows', in: '/content', name: 'Windows' },
  { to: '/content/releases', in: '/content', name: 'Releases' },
  { to: '/content/entities', in: '/content', name: 'Entities' },
  { to: '/notifications/campaigns', in: '/notifications', name: 'Campaigns' },
  { to: '/notifications/messages', in: '/notifications', name: 'Messages' },
  { to: '/notifications/templates', in: '/notifications', name: 'Templates' },
  { to: '/notifications/recipients', in: '/notifications', name: 'Recipients' },
  { to: '/notifications/channels', in: '/notifications', name: 'Channels' },
  { to: '/settings?tab=keys', in: '/settings', name: 'API keys' },
  { to: '/settings?tab=secrets', in: '/settings', name: 'Secrets' },
  { to: '/settings?tab=namespaces', in: '/settings', name: 'Namespaces' },
  { to: '/settings?tab=webhooks', in: '/settings', name: 'Webhooks' },
  { to: '/settings?tab=audit', in: '/settings', name: 'Audit' },
]
export const GROUPS: Record<Place['group'], string> = { run: 'Run', plan: 'Plan', system: 'System' }
