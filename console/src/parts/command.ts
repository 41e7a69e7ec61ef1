/** Commands of the program `sexton` that are shown to be copied. */
import { namespaceIn, DEFAULT } from '@/frame/address'

// Where the program looks by itself.
const USUAL = /^http:\/\/(127\.0\.0\.1|localhost):7390$/

/** For a POSIX shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** With the variables that lead the command to this server and this namespace: copied to a terminal it does what the page says. */
export function leading(command: string, origin: string, namespace: string): string {
  const variables = [!USUAL.test(origin) && `SEXTON_URL=${quoted(origin)}`, namespace !== DEFAULT && `SEXTON_NAMESPACE=${quoted(namespace)}`]
  // Before the program itself: something may be written to it.
  return command.replace(/(?<=^|\| )sexton /, [...variables.filter(Boolean), 'sexton '].join(' '))
}

/** The same, of the page that is open. */
export function here(command: string): string {
  return leading(command, location.origin, namespaceIn(location.pathname) ?? DEFAULT)
}
