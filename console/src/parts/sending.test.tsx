/** What is pressed twice is sent once; what fails after its dialog was closed is told all the same. */
import { MantineProvider } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { act } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { useActing, useSending } from './sending'
import { tellUndo } from './notify'

let root: Root
let place: HTMLElement

beforeEach(() => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true)
  place = document.body.appendChild(document.createElement('div'))
  root = createRoot(place)
})

afterEach(() => {
  act(() => root.unmount())
  place.remove()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

function Acting({ work }: { work: () => Promise<unknown> }) {
  const [busy, send] = useActing()
  return <button type="button" data-busy={busy} onClick={() => void send(work)}>Run now</button>
}

function Sending({ work, close }: { work: () => Promise<unknown>; close: () => void }) {
  const { error, send } = useSending()
  return <button type="button" onClick={() => void send(work, close)}>{error === null ? 'Save' : String(error)}</button>
}

const button = () => place.querySelector('button') as HTMLButtonElement

it('does once what is pressed twice', async () => {
  let end = () => {}
  const work = vi.fn(() => new Promise<void>((resolve) => { end = resolve }))
  act(() => root.render(<Acting work={work} />))
  act(() => {
    button().click()
    button().click()
  })
  expect(work).toHaveBeenCalledOnce()
  expect(button().dataset['busy']).toBe('true')
  await act(async () => end())
  act(() => button().click())
  expect(work).toHaveBeenCalledTimes(2)
  await act(async () => end())
})

it('shows what was refused in the form, and closes what was saved', async () => {
  const told = vi.spyOn(notifications, 'show')
  const close = vi.fn()
  const answers = [() => Promise.reject(new Error('the name is taken')), () => Promise.resolve()]
  act(() => root.render(<Sending work={() => answers.shift()?.() ?? Promise.resolve()} close={close} />))
  await act(async () => button().click())
  expect(button().textContent).toContain('the name is taken')
  expect(close).not.toHaveBeenCalled()
  await act(async () => button().click())
  expect(close).toHaveBeenCalledOnce()
  expect(told).not.toHaveBeenCalled()
})

it('tells what fails after the form was closed, and closes nothing else', async () => {
  const told = vi.spyOn(notifications, 'show').mockReturnValue('id')
  const close = vi.fn()
  const ends: ((well: boolean) => void)[] = []
  const work = () => new Promise<void>((resolve, reject) => ends.push((well) => (well ? resolve() : reject(new Error('the name is taken')))))
  for (const well of [false, true]) {
    act(() => root.render(<Sending work={work} close={close} />))
    act(() => button().click())
    act(() => root.render(null))
    await act(async () => ends.shift()?.(well))
  }
  expect(told.mock.calls.map(([{ message }]) => message)).toEqual(['the name is taken'])
  expect(close).not.toHaveBeenCalled()
})

it('takes back once, however often it is pressed', async () => {
  const shown = vi.spyOn(notifications, 'show').mockReturnValue('id')
  const undo = vi.fn(() => Promise.resolve())
  tellUndo('3 jobs were paused', undo)
  act(() => root.render(<MantineProvider>{shown.mock.calls[0]?.[0].message}</MantineProvider>))
  await act(async () => {
    button().click()
    button().click()
  })
  expect(undo).toHaveBeenCalledOnce()
})
