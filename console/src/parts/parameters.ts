import { useSearchParams } from 'react-router'

/** What stands in the address after the question mark, and a way to change it without a step in the history; null takes one out. */
export function useParameters(): [search: URLSearchParams, change: (values: Record<string, string | null | undefined>) => void] {
  const [search, setSearch] = useSearchParams()
  const change = (values: Record<string, string | null | undefined>) =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before)
        for (const [name, value] of Object.entries(values)) {
          if (value === null || value === undefined) next.delete(name)
          else next.set(name, value)
        }
        return next
      },
      { replace: true },
    )
  return [search, change]
}
