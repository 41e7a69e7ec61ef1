/**
 * The namespace in the address: `/namespaces/billing/jobs`, and for `default` only `/jobs`. So an address shows the same to
 * all who open it, in another tab, too.
 */
export const DEFAULT = 'default'

/** What comes before the addresses of the pages. */
export function prefixOf(path: string): string {
  return /^\/namespaces\/[^/]+/.exec(path)?.[0] ?? ''
}

/** The namespace that an address names; null: it names none. */
export function namespaceIn(path: string): string | null {
  const prefix = prefixOf(path)
  return prefix ? decoded(prefix.slice('/namespaces/'.length)) : null
}

/** The same page of another namespace. */
export function inNamespace(path: string, namespace: string): string {
  // One slash: with two of them a browser would go to another host.
  const inside = `/${path.slice(prefixOf(path).length).replace(/^\/+/, '')}`
  return namespace === DEFAULT ? inside : `/namespaces/${encodeURIComponent(namespace)}${inside === '/' ? '' : inside}`
}

/** Where to go when the namespace is switched: what one page shows the other namespace does not have, but it has the list. */
export function listIn(path: string, namespace: string): string {
  const [first = ''] = path.slice(prefixOf(path).length).split('/').filter(Boolean)
  return inNamespace(`/${first}`, namespace)
}

/** What is not encoded as it must be stays as it is: there is no such namespace. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
