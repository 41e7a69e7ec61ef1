/** One entry: its mark, its time, its name. It is dragged, or moved with the key `m`. */
import { Tooltip } from '@mantine/core'
import { IconBan, IconCheck, IconClock, IconClockExclamation, IconFileText, IconPackage, IconPlayerSkipForward, IconRefresh, IconSend, IconX, type Icon } from '@tabler/icons-react'
import { number, t } from '@/i18n'
import { duration, wallOf } from '../instant'
import { stateName, toneOf } from '../Status'
import type { CalendarEvent } from './Calendar'
import classes from './Calendar.module.css'

/** From here on it is told that something was late. */
export const LATE_SECONDS = 60
const KINDS: Record<string, Icon> = { job: IconClock, content: IconFileText, release: IconPackage, campaign: IconSend }
const ENDED: Record<string, Icon> = { skipped: IconPlayerSkipForward, cancelled: IconBan, processing: IconRefresh, running: IconRefresh, sending: IconRefresh }

export function markOf(event: CalendarEvent): Icon {
  const tone = toneOf(event.status)
  if (tone === 'bad' || event.status === 'failed') return IconX
  if ((event.late ?? 0) >= LATE_SECONDS) return IconClockExclamation
  if (tone === 'good') return IconCheck
  return ENDED[event.status ?? ''] ?? KINDS[event.kind ?? 'job'] ?? IconClock
}

/** Failed, late, done, or what it is. */
export function lookOf(event: CalendarEvent): string {
  const tone = event.status === 'failed' ? 'bad' : toneOf(event.status)
  if (tone === 'good' && (event.late ?? 0) >= LATE_SECONDS) return 'warn'
  return tone
}

/** What stands in a chip, and what there is no room for. */
function labelOf(event: CalendarEvent, zone: string, movable: boolean): string {
  return `${wallOf(new Date(event.at), zone).slice(11)} ${event.title}${event.count && event.count > 1 ? ` ×${number(event.count)}` : ''}, ${told(event, movable)}`
}

function told(event: CalendarEvent, movable: boolean): string {
  const parts = [event.detail, event.status && stateName(event.status), (event.late ?? 0) >= LATE_SECONDS && t('{time} late', { time: duration(event.late) })]
  return `${parts.filter(Boolean).join(', ')}${movable ? `. ${t('Press m to move it')}` : ''}`
}

export interface ChipProps {
  event: CalendarEvent
  zone: string
  open(event: CalendarEvent): void
  move: ((event: CalendarEvent, local: string | null) => void) | undefined
}

export function Chip({ event, zone, open, move }: ChipProps) {
  const movable = Boolean(event.movable && move)
  const Mark = markOf(event)
  const label = labelOf(event, zone, movable)
  return (
    <Tooltip label={label} openDelay={400} multiline maw={320}>
      <button
        type="button"
        className={classes.chip}
        data-tone={lookOf(event)}
        data-kind={event.kind ?? 'job'}
        data-past={event.past || undefined}
        data-movable={movable || undefined}
        draggable={movable}
        onDragStart={(drag) => { drag.dataTransfer.setData('text/plain', event.key); drag.dataTransfer.effectAllowed = 'move' }}
        onClick={() => open(event)}
        onKeyDown={(key) => {
          if (key.key === 'm' && movable && move) {
            key.preventDefault()
            key.stopPropagation()
            move(event, null)
          }
        }}
      >
        <Mark size={12} stroke={2.2} className={classes.mark ?? ''} aria-hidden />
        <span className={classes.time}>{wallOf(new Date(event.at), zone).slice(11)}</span>{' '}
        <span className={classes.name}>{event.title}</span>{' '}
        {event.count && event.count > 1 ? <span className={classes.times}>×{number(event.count)}</span> : null}
        <span className="hidden-label">, {told(event, movable)}</span>
      </button>
    </Tooltip>
  )
}
