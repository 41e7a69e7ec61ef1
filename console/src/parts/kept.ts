/** What this browser remembers from visit to visit. Where storage is forbidden, a choice lasts as long as the page. */
export function kept(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value)
  } catch {
    // It is forbidden.
  }
}

/** The namespace that was shown last; there is none in a browser that has shown the console to no caller. */
export const NAMESPACE = 'sexton.namespace'
