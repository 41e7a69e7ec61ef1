/**
 * The one question before something is changed that cannot simply be taken back: the name of the object, the effect in
 * numbers, and a reason for the audit.
 */
import { Alert, Button, Group, Text, TextInput } from '@mantine/core'
import { createContext, useCallback, useContext, useRef, useState, type ReactNode } from 'react'
import { t } from '@/i18n'
import { Dialog } from './Dialog'
import { Failure } from './Page'
import { useSending } from './sending'

export interface Question {
  title: string
  /** What it is done to: a name, or “41 jobs”. */
  object: string
  /** What happens, in numbers where there are some. */
  effect: ReactNode
  /** The word on the button. */
  verb: string
  destructive?: boolean
  /** It can be taken back afterwards; what is destructive says otherwise that it cannot. */
  undoable?: boolean
  /** Ask for a reason; it is kept in the audit. What is destructive and cannot be undone needs one, unless this says otherwise. */
  reason?: 'required' | 'optional' | 'none'
  /** What has to be typed before it is done: what goes for good is not done by accident. */
  typed?: string
  /** More fields. */
  children?: ReactNode
  /** Done when it is confirmed; what it throws is shown, and the question stays. */
  act(reason: string | undefined): Promise<unknown>
}

const Asking = createContext<(question: Question) => void>(() => undefined)

export function useConfirm(): (question: Question) => void {
  return useContext(Asking)
}

export function ConfirmProvider({ children }: { children: ReactNode }) {
  const [asked, setAsked] = useState<{ question: Question; number: number } | null>(null)
  // Which question is open. Each begins with nothing typed.
  const [open, setOpen] = useState(0)
  const last = useRef(0)
  const ask = useCallback((question: Question) => {
    last.current += 1
    setAsked({ question, number: last.current })
    setOpen(last.current)
  }, [])
  const close = (number: number) => setOpen((now) => (now === number ? 0 : now))
  return (
    <Asking value={ask}>
      {children}
      {asked && <Asked key={asked.number} question={asked.question} open={open === asked.number} close={() => close(asked.number)} />}
    </Asking>
  )
}

function Asked({ question, open, close }: { question: Question; open: boolean; close: () => void }) {
  const [reason, setReason] = useState('')
  const [typed, setTyped] = useState('')
  const { busy, error, send } = useSending(open)
  const asked = question.reason ?? (question.destructive && !question.undoable ? 'required' : 'optional')
  const ready = !busy && (asked !== 'required' || reason.trim().length > 0) && (question.typed === undefined || typed.trim() === question.typed)
  return (
    <Dialog opened={open} onClose={close} title={<strong>{question.title}</strong>} size="md">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (ready) void send(() => question.act(reason.trim() || undefined), close)
        }}
      >
        <Text fw={600} style={{ overflowWrap: 'anywhere' }}>{question.object}</Text>
        <Text mt={4} c="dimmed">{question.effect}{question.destructive && !question.undoable && <> {t('This cannot be undone.')}</>}</Text>
        {question.children}
        {asked !== 'none' && (
          <TextInput
            mt="md"
            data-autofocus
            label={asked === 'required' ? t('Reason') : t('Reason (optional)')}
            description={t('Kept in the audit with your name.')}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
            required={asked === 'required'}
            maxLength={1000}
          />
        )}
        {question.typed !== undefined && <TextInput mt="md" label={t('Type {text} to go on', { text: question.typed })} autoComplete="off" value={typed} onChange={(event) => setTyped(event.currentTarget.value)} required />}
        {error !== null && (
          <Alert mt="md" color="red" p={0}>
            <Failure error={error} />
          </Alert>
        )}
        <Group justify="flex-end" mt="lg" gap="xs">
          <Button variant="default" type="button" onClick={close}>{t('Keep it as it is')}</Button>
          <Button type="submit" loading={busy} disabled={!ready} {...(question.destructive ? { color: 'red' } : {})}>{question.verb}</Button>
        </Group>
      </form>
    </Dialog>
  )
}
