/** Errors at the field of a form: those that the server names, and those that are found before it is asked. */
import { ApiError } from '@/api/client'
import { NotJson, parseExact } from '@/api/exact'
import { t } from '@/i18n'

export class FieldError extends Error {
  constructor(
    readonly field: string,
    message: string,
  ) {
    super(message)
  }
}

/** The value of a field of JSON; raises `FieldError` for what cannot be read. */
export function parsedAt(field: string, text: string): unknown {
  try {
    return parseExact(text)
  } catch (error) {
    throw new FieldError(field, error instanceof NotJson ? `${t('This is not JSON')}: ${error.message}` : String(error))
  }
}

/** What an error says about a field, or about a part of it. */
export function errorAt(error: unknown, name: string): string | undefined {
  if (error instanceof FieldError) return error.field === name ? error.message : undefined
  if (!(error instanceof ApiError) || error.field?.split('.')[0] !== name) return undefined
  return [error.message, error.hint].filter(Boolean).join(' · ')
}

/** A value, or the error of a field that keeps it from being made. */
export function attempted<T>(make: () => T): [T | null, FieldError | null] {
  try {
    return [make(), null]
  } catch (error) {
    if (error instanceof FieldError) return [null, error]
    throw error
  }
}
