/** From row to row with the keys, in the list that has the focus or the first of the page. Rows that come later are drawn before the focus is there. */
const ROW = 'tr[data-row]'

/** Whether the key was for a list. */
export function walk(key: string, target: Element): boolean {
  const row = target.closest<HTMLElement>(ROW)
  const list = target.closest('[data-rows]') ?? document.querySelector('main [data-rows]')
  if (!list) return false
  switch (key) {
    case 'j':
      return focus(row ? beside(row, 'nextElementSibling') : list.querySelector<HTMLElement>(ROW))
    case 'k':
      return focus(row ? beside(row, 'previousElementSibling') : list.querySelector<HTMLElement>(ROW))
    case 'ArrowDown':
      return row === target && focus(beside(row, 'nextElementSibling'))
    case 'ArrowUp':
      return row === target && focus(beside(row, 'previousElementSibling'))
    case 'Enter':
      if (row !== target) return false
      row.click()
      return true
    case 'x': {
      const box = row?.querySelector<HTMLInputElement>('input[type="checkbox"]')
      box?.click()
      return Boolean(box)
    }
    default:
      return false
  }
}

function beside(row: Element, side: 'nextElementSibling' | 'previousElementSibling'): HTMLElement | null {
  let next = row[side]
  // A row that is unfolded is followed by what it hides.
  while (next && !next.matches(ROW)) next = next[side]
  return next as HTMLElement | null
}

function focus(row: HTMLElement | null): boolean {
  row?.focus()
  row?.scrollIntoView({ block: 'nearest' })
  return true
}
