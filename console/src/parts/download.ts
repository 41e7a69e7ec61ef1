import { ApiError, address, headersOf } from '@/api/client'

/** Fetch a file with the headers of the API, and give it to the browser to save. */
export async function download(path: string, query: Record<string, string>, name: string): Promise<void> {
  const response = await fetch(address(`GET ${path}`, {}, query), { headers: headersOf({}, 'GET'), credentials: 'same-origin' })
  if (!response.ok) throw new ApiError(response.status, { detail: await response.text() })
  save(await response.blob(), name)
}

export function save(content: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
