/** What a browser says that it is, in two words: “Firefox on Linux”. The order counts: most call themselves Chrome and Safari, too. */
import { t } from '@/i18n'

const BROWSERS: [RegExp, string][] = [[/Edg\//, 'Edge'], [/OPR\//, 'Opera'], [/Firefox\//, 'Firefox'], [/Chrome\/|Chromium\//, 'Chrome'], [/Safari\//, 'Safari']]
const SYSTEMS: [RegExp, string][] = [[/Android/, 'Android'], [/iPhone|iPad/, 'iOS'], [/Windows/, 'Windows'], [/Mac OS X/, 'macOS'], [/Linux/, 'Linux']]

export function browserOf(agent: string | null): string {
  if (!agent) return t('Unknown browser')
  const named = (known: [RegExp, string][]) => known.find(([mark]) => mark.test(agent))?.[1]
  const [browser, system] = [named(BROWSERS), named(SYSTEMS)]
  if (!browser) return agent.slice(0, 40)
  return system ? t('{browser} on {system}', { browser, system }) : browser
}
