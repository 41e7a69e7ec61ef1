import { describe, expect, it } from 'vitest'
import { browserOf } from './browser'

describe('a browser', () => {
  it('has a name and a system', () => {
    expect(browserOf('Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0')).toBe('Firefox on Linux')
    expect(browserOf('Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0')).toBe('Edge on Windows')
    expect(browserOf('Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1')).toBe('Safari on iOS')
  })
  it('is what it says if it is none of these', () => {
    expect(browserOf('curl/8.5.0')).toBe('curl/8.5.0')
    expect(browserOf(null)).toBe('Unknown browser')
  })
})
