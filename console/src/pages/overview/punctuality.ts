import { number } from '@/i18n'

/** The share of runs that started on time. Runs without a time of a schedule, such as manual ones, do not count. */
export function punctuality({ on_time, late }: { on_time: number; late: number }): string {
  return on_time + late > 0 ? `${number((on_time / (on_time + late)) * 100, 1)} %` : '–'
}
