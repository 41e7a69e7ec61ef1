/** Small bars without a scale: how something went over time, in the space of a word. The whole has a text. */
import classes from './Spark.module.css'

export function Spark({ values, label, tone = 'accent', height = 22 }: { values: number[]; label: string; tone?: 'accent' | 'good' | 'bad' | 'warn' | 'idle'; height?: number }) {
  const highest = Math.max(1, ...values)
  return (
    <span className={classes.spark} role="img" aria-label={label} title={label} data-tone={tone} style={{ height }}>
      {values.map((value, index) => (
        <i key={index} data-none={value === 0 || undefined} style={{ height: value ? `${Math.max(14, (value / highest) * 100)}%` : undefined }} />
      ))}
    </span>
  )
}
