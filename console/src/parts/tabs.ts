/** For a list of tabs that is wider than the page: the chosen tab is in sight when the page opens. */
export function showChosen(list: HTMLElement | null): void {
  const chosen = list?.querySelector<HTMLElement>('[role="tab"][data-active]')
  if (list && chosen) list.scrollLeft = chosen.offsetLeft + chosen.offsetWidth / 2 - list.clientWidth / 2
}
