/** A dialog with a form: it closes when it was saved; what was refused stands at its field, or below all of them. */
import { Alert, Button, Group } from '@mantine/core'
import type { ReactNode } from 'react'
import { t } from '@/i18n'
import { Dialog } from './Dialog'
import { errorAt } from './field'
import { Failure } from './Page'
import { useSending } from './sending'

interface Props {
  title: string
  verb: string
  /** Those that show their own errors. */
  fields?: string[]
  close(): void
  save(): Promise<unknown>
  children: ReactNode | ((error: (field: string) => string | undefined) => ReactNode)
}

export function FormDialog({ title, verb, fields = [], close, save, children }: Props) {
  const { busy, error, send } = useSending()
  const atField = (field: string) => errorAt(error, field)
  return (
    <Dialog opened onClose={close} title={<strong>{title}</strong>}>
      <form onSubmit={(event) => { event.preventDefault(); void send(save, close) }}>
        {typeof children === 'function' ? children(atField) : children}
        {error !== null && !fields.some(atField) && <Alert mt="md" color="red" p={0}><Failure error={error} /></Alert>}
        <Group justify="flex-end" mt="lg" gap="xs">
          <Button variant="default" type="button" onClick={close}>{t('Close')}</Button>
          <Button type="submit" loading={busy}>{verb}</Button>
        </Group>
      </form>
    </Dialog>
  )
}
