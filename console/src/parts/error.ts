/** What an error says, and where it came from. Sexton writes the message first and the traceback after it; others end a traceback with the message. */
export interface Told {
  title: string
  /** The rest, if there is more than one line. */
  trace: string | null
}

export function toldBy(error: string): Told {
  const lines = error.split('\n')
  const filled = lines.filter((line) => line.trim().length > 0)
  if (filled.length <= 1) return { title: (filled[0] ?? error).trim(), trace: null }
  const python = /^Traceback \(most recent call last\)/.test(filled[0] ?? '')
  const title = ((python ? filled.at(-1) : filled[0]) ?? '').trim()
  const rest = python ? lines : lines.slice(lines.indexOf(filled[0] ?? '') + 1)
  return { title, trace: rest.join('\n').replace(/^\n+|\s+$/g, '') }
}
