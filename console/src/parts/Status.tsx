/** States are told by a sign and a word; colour comes on top. */
import {
  IconAlertTriangle, IconBan, IconCheck, IconCircleDashed, IconClock, IconClockOff, IconPencil, IconPlayerPause, IconPlayerPlay,
  IconPlayerSkipForward, IconRefresh, IconSkull, IconTrash, IconX, type Icon,
} from '@tabler/icons-react'
import { t } from '@/i18n'
import classes from './Status.module.css'

type Tone = 'good' | 'bad' | 'warn' | 'info' | 'idle'
interface Look {
  tone: Tone
  icon: Icon
}

const LOOKS: Record<string, Look> = {
  success: { tone: 'good', icon: IconCheck },
  done: { tone: 'good', icon: IconCheck },
  fired: { tone: 'good', icon: IconCheck },
  active: { tone: 'good', icon: IconPlayerPlay },
  live: { tone: 'good', icon: IconCheck },
  published: { tone: 'good', icon: IconCheck },
  sent: { tone: 'good', icon: IconCheck },
  sending: { tone: 'info', icon: IconRefresh },
  preparing: { tone: 'info', icon: IconRefresh },
  prepared: { tone: 'info', icon: IconClock },
  draft: { tone: 'idle', icon: IconPencil },
  held: { tone: 'warn', icon: IconPlayerPause },
  unconfirmed: { tone: 'warn', icon: IconAlertTriangle },
  delivered: { tone: 'good', icon: IconCheck },
  running: { tone: 'info', icon: IconRefresh },
  processing: { tone: 'info', icon: IconRefresh },
  pending: { tone: 'idle', icon: IconClock },
  upcoming: { tone: 'idle', icon: IconClock },
  scheduled: { tone: 'idle', icon: IconClock },
  waiting: { tone: 'info', icon: IconCircleDashed },
  failed: { tone: 'warn', icon: IconAlertTriangle },
  failure: { tone: 'bad', icon: IconX },
  late: { tone: 'warn', icon: IconClock },
  draining: { tone: 'warn', icon: IconPlayerSkipForward },
  dead: { tone: 'bad', icon: IconSkull },
  problem: { tone: 'bad', icon: IconAlertTriangle },
  error: { tone: 'bad', icon: IconX },
  warning: { tone: 'warn', icon: IconAlertTriangle },
  cancelled: { tone: 'idle', icon: IconBan },
  expired: { tone: 'warn', icon: IconClockOff },
  skipped: { tone: 'idle', icon: IconPlayerSkipForward },
  paused: { tone: 'warn', icon: IconPlayerPause },
  completed: { tone: 'idle', icon: IconCheck },
  deleted: { tone: 'idle', icon: IconTrash },
  bounced: { tone: 'bad', icon: IconX },
  suppressed: { tone: 'idle', icon: IconBan },
}

export function toneOf(status: string | null | undefined): Tone {
  return LOOKS[status ?? '']?.tone ?? 'idle'
}

/** The word of a state in the language of the page. */
export function stateName(status: string): string {
  return t(status)
}

export function Status({ status, label }: { status: string | null | undefined; label?: string }) {
  if (!status) return <span className="quiet">–</span>
  const look = LOOKS[status] ?? { tone: 'idle', icon: IconCircleDashed }
  return (
    <span className={classes.status} data-tone={look.tone}>
      <look.icon size={13} stroke={2.2} aria-hidden />
      {label ?? stateName(status)}
    </span>
  )
}

export function Dot({ tone }: { tone: Tone }) {
  return <span className={classes.dot} data-tone={tone} aria-hidden />
}
