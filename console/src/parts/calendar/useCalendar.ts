import { useSearchParams } from 'react-router'
import { dayOf } from '../instant'
import { tabOf } from '../tab'
import { dayIn, VIEWS, type View } from './days'

/** View and day in the address bar. */
export function useCalendar(zone: string, first: View = 'month'): { view: View; day: string; go(change: { view?: View; day?: string }): void } {
  const [search, setSearch] = useSearchParams()
  const usual = window.innerWidth < 640 ? 'agenda' : first
  const view = tabOf([usual, ...VIEWS], search.get('view'))
  const day = dayIn(search.get('day')) ?? dayOf(new Date(), zone)
  const go = (change: { view?: View; day?: string }) =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before)
        for (const [name, value] of Object.entries(change)) next.set(name, value)
        return next
      },
      { replace: true },
    )
  return { view, day, go }
}
