import { writeExact } from '@/api/exact'
import { masked } from '@/parts/Json'
import type { Difference } from './differences'
import classes from './Job.module.css'

/** Each field as it was and as it is. */
export function DiffTable({ fields }: { fields: Difference[] }) {
  return (
    <table className={classes.diff}>
      <tbody>
        {fields.map(([name, before, after]) => (
          <tr key={name}>
            <td><code>{name}</code></td>
            <td>
              {before !== undefined && <div className={classes.before}><code>{shown(before, name)}</code></div>}
              {after !== undefined && <div className={classes.after}><code>{shown(after, name)}</code></div>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function shown(value: unknown, name: string): string {
  return writeExact(masked(value, name), 0)
}
