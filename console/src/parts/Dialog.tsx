/** A dialog that gives the focus back to what opened it, also if it is drawn only while it is open, or was opened from a menu. */
import { Modal, type ModalProps } from '@mantine/core'
import { useEffect } from 'react'
import { t } from '@/i18n'

export function Dialog(props: ModalProps) {
  useFocusBack(props.opened)
  return <Modal returnFocus={false} closeButtonProps={{ 'aria-label': t('Close') }} {...props} />
}

function useFocusBack(open: boolean): void {
  useEffect(() => {
    if (!open) return
    const opener = openerOf(document.activeElement)
    return () => {
      const last = document.activeElement
      // When what was done is drawn; another dialog may have taken the focus by then.
      setTimeout(() => {
        if (document.activeElement !== document.body && document.activeElement !== last) return
        const known = opener?.isConnected ? opener : document.getElementById('content')
        known?.focus({ preventScroll: true })
      }, 20)
    }
  }, [open])
}

/** An entry of a menu is gone when the dialog closes: then it is what opens the menu. */
function openerOf(active: Element | null): HTMLElement | null {
  const menu = active?.closest('[role="menu"]')
  const opener = menu?.id ? document.querySelector(`[aria-controls="${CSS.escape(menu.id)}"]`) : active
  return opener instanceof HTMLElement && opener !== document.body ? opener : null
}
