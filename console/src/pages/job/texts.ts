/** A job as people type it elsewhere. Only what differs from the defaults is written. */
import { ExactNumber, writeExact } from '@/api/exact'
import { JOB_FIELDS, type JobView } from '@/api/schema'
import { leading, quoted } from '@/parts/command'

// What the server adds to a definition.
const STATE = new Set([
  'job_id', 'status', 'revision', 'next_run_at', 'next_run_local', 'moved_from', 'last_run_at', 'last_outcome', 'paused_reason', 'paused_until', 'app', 'problem', 'created_at',
  'updated_at', 'completed_at', 'warnings', 'strip', 'words',
])
const DEFAULTS = new Map<string, unknown>(Object.entries(JOB_FIELDS).map(([name, field]) => [name, field.default]))

/** The fields of the definition that were chosen. `kind`, `anchor` and policies that were worked out stay if they are there. */
export type Definition = Record<string, unknown>

export function definitionOf(job: JobView): Definition {
  const made: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(job)) {
    if (STATE.has(name) || value === null || value === undefined) continue
    if (DEFAULTS.has(name) && writeExact(value, 0) === writeExact(DEFAULTS.get(name), 0)) continue
    made[name] = value
  }
  return made
}

export function asCurl(job: Definition, origin: string, namespace = 'default'): string {
  const header = namespace === 'default' ? '' : ` \\\n  -H ${quoted(`Sexton-Namespace: ${namespace}`)}`
  return `curl ${origin}/api/v1/jobs${header} \\\n  -H 'Content-Type: application/json' \\\n  -d ${quoted(writeExact(job))}`
}

export function asCommand(job: Definition, origin: string, namespace = 'default'): string {
  const { name, labels, exclude, ...rest } = job
  const options = Object.entries(rest).map(([field, value]) => {
    const target = value as Record<string, unknown>
    if (field === 'target' && typeof target['handler'] === 'string') return `--handler ${quoted(target['handler'])}`
    // A payload is read as JSON, whatever it is.
    const text = field === 'payload' || (typeof value === 'object' && !(value instanceof ExactNumber)) ? writeExact(value, 0) : String(value)
    return `--${field.replaceAll('_', '-')} ${quoted(text)}`
  })
  for (const [label, value] of Object.entries((labels ?? {}) as Record<string, string>)) options.push(`--label ${quoted(`${label}=${value}`)}`)
  for (const day of (exclude ?? []) as string[]) options.push(`--exclude ${quoted(day)}`)
  return [leading(`sexton jobs add ${quoted(String(name))}`, origin, namespace), ...options].join(' \\\n  ')
}

export function asPython(job: Definition): string {
  const { target, schedule, ...rest } = job
  const handler = (target as { handler?: string } | undefined)?.handler
  const first = handler ? `    ${python(handler)},\n` : target ? `    target=${python(target, 1)},\n` : ''
  const fields = Object.entries({ schedule, ...rest }).map(([name, value]) => `    ${name}=${python(value, 1)},\n`)
  return `await app.schedule(\n${first}${fields.join('')})`
}

export function asYaml(job: Definition): string {
  return yaml(job, 0).replace(/^\n/, '')
}

function python(value: unknown, depth = 0): string {
  if (value === null || value === undefined) return 'None'
  if (value === true) return 'True'
  if (value === false) return 'False'
  if (value instanceof ExactNumber) return value.text
  if (typeof value !== 'object') return JSON.stringify(value)
  const pad = '    '.repeat(depth + 1)
  const items = Array.isArray(value) ? value.map((each) => python(each, depth + 1)) : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${python(each, depth + 1)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const line = `${open}${items.join(', ')}${close}`
  return line.length < 80 ? line : `${open}\n${items.map((item) => `${pad}${item},\n`).join('')}${'    '.repeat(depth)}${close}`
}

function yaml(value: unknown, depth: number): string {
  if (value === null || value === undefined) return ' null'
  if (value instanceof ExactNumber) return ` ${value.text}`
  if (typeof value === 'string') return ` ${scalar(value)}`
  if (typeof value !== 'object') return ` ${String(value)}`
  const pad = '\n' + '  '.repeat(depth)
  if (Array.isArray(value)) return value.length ? value.map((each) => `${pad}-${yaml(each, depth + 1)}`).join('') : ' []'
  const entries = Object.entries(value).filter(([, each]) => each !== undefined)
  return entries.length ? entries.map(([name, each]) => `${pad}${scalar(name)}:${yaml(each, depth + 1)}`).join('') : ' {}'
}

/** In quotes unless it is a plain word: `on`, `*` and times mean something else in YAML. */
function scalar(text: string): string {
  const plain = /^[A-Za-z_][\w./-]*$/.test(text) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(text)
  return plain ? text : JSON.stringify(text)
}
