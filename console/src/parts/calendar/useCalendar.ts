import { dayOf } from '../instant'
import { useParameters } from '../parameters'
import { tabOf } from '../tab'
import { dayIn, VIEWS, type View } from './days'

/** View and day in the address bar. */
export function useCalendar(zone: string, first: View = 'month'): { view: View; day: string; go(change: { view?: View; day?: string }): void } {
  const [search, go] = useParameters()
  const usual = window.innerWidth < 640 ? 'agenda' : first
  const view = tabOf([usual, ...VIEWS], search.get('view'))
  const day = dayIn(search.get('day')) ?? dayOf(new Date(), zone)
  return { view, day, go }
}
