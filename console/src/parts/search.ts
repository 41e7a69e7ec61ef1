import { useSearchParams, type NavigateOptions } from 'react-router'

/** The query in the address bar, and a change of some of it, in place unless it is told otherwise; null takes a name out. */
export function useSearch(): [URLSearchParams, (values: Record<string, string | null>, how?: NavigateOptions) => void] {
  const [search, setSearch] = useSearchParams()
  const change = (values: Record<string, string | null>, how: NavigateOptions = { replace: true }) =>
    setSearch((before) => {
      const next = new URLSearchParams(before)
      for (const [name, value] of Object.entries(values)) {
        if (value === null) next.delete(name)
        else next.set(name, value)
      }
      return next
    }, how)
  return [search, change]
}
