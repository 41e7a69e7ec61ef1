import { describe, expect, it } from 'vitest'
import { ApiError } from '@/api/client'
import { isConflict } from './Refusal'

describe('what a person may overrule', () => {
  it('is that another plan contradicts it, and no other conflict', () => {
    expect(isConflict(new ApiError(409, { code: 'content_conflict' }))).toBe(true)
    expect(isConflict(new ApiError(409, { code: 'content_done' }))).toBe(false)
    expect(isConflict(new ApiError(409, { code: 'job_completed' }))).toBe(false)
  })
})
