import { file } from '@/api/client'

/** Fetch a file with the headers of the API, and give it to the browser to save. */
export async function download(path: string, query: Record<string, string>, name: string): Promise<void> {
  save(await file(path, query), name)
}

export function save(content: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
