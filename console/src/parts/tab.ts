/** The tab that an address asks for, or else the first: an address may be mistyped, or come from someone who is shown more. */
export function tabOf<T extends string>(tabs: readonly T[], asked: string | null | undefined): T {
  return (tabs.find((each) => each === asked) ?? tabs[0]) as T
}
