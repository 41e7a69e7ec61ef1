/** How far a list looks for rows by itself. */

// So many pages with few rows are read, one after another, until a person asks for more: each is read again when something changes.
const MOST_THIN = 10
const FEW = 5

/**
 * The server ends a page where it has read enough, also one with few rows or none, and the next one goes on from there.
 * Whether the last pages had so little that a list should not go on by itself.
 */
export function isTired(pages: readonly { items: readonly unknown[] }[]): boolean {
  return pages.length >= MOST_THIN && pages.slice(-MOST_THIN).every((page) => page.items.length < FEW)
}
