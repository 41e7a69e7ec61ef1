/** What can be done to many campaigns, templates, recipients and messages. */
import { page } from '@/api/client'
import { t, tn } from '@/i18n'
import type { ManyAction } from '@/parts/many'

/** “12 messages wait. ”: those of a template or of a recipient; nothing where they cannot be counted. */
export async function waitingText(of: { template_id?: string; user_id?: string }): Promise<string> {
  const { total, estimated } = await page('GET /notifications', { query: { ...of, status: 'pending', limit: 1 } })
  return total === null || estimated ? '' : `${tn('{count} message waits.', '{count} messages wait.', total)} `
}

export const campaignAction = (action: 'start' | 'pause' | 'resume' | 'cancel'): ManyAction => ({
  place: 'campaigns',
  action,
  things: ['{count} campaign', '{count} campaigns'],
  ...{
    start: { title: t('Start campaigns'), verb: t('Start'), effect: t('Drafts go out at their times, those without one at once.') },
    pause: { title: t('Pause campaigns'), verb: t('Pause'), effect: t('No batch begins any more. What has gone out is not taken back.'), undo: 'resume' },
    resume: { title: t('Resume campaigns'), verb: t('Resume'), effect: t('They go on where they stopped.'), undo: 'pause' },
    cancel: { title: t('Cancel campaigns'), verb: t('Cancel'), effect: t('Nothing more goes out. What has gone out is not taken back.'), destructive: true },
  }[action],
})

export const deletingTemplates = (): ManyAction => ({
  place: 'templates',
  action: 'delete',
  title: t('Delete templates'),
  verb: t('Delete'),
  things: ['{count} template', '{count} templates'],
  done: ['{count} template was deleted', '{count} templates were deleted'],
  effect: t('New messages with them are refused; those that were made still go out.'),
  destructive: true,
  undo: 'restore',
})

export const suppressingRecipients = (): ManyAction => ({
  place: 'recipients',
  action: 'suppress',
  title: t('Suppress recipients'),
  verb: t('Suppress'),
  things: ['{count} recipient', '{count} recipients'],
  done: ['{count} recipient was suppressed', '{count} recipients were suppressed'],
  effect: t('Nothing is sent to them any more, on any channel: what is due meanwhile is suppressed, with this reason.'),
  destructive: true,
  undo: 'unsuppress',
})

export const unsuppressingRecipients = (): ManyAction => ({
  place: 'recipients',
  action: 'unsuppress',
  title: t('Unsuppress recipients'),
  verb: t('Unsuppress'),
  things: ['{count} recipient', '{count} recipients'],
  done: ['{count} recipient gets messages again', '{count} recipients get messages again'],
  effect: t('They get messages again. What was suppressed meanwhile is not sent later. Addresses that are suppressed on their own stay so.'),
})

export const erasingRecipients = (): ManyAction => ({
  place: 'recipients',
  action: 'erase',
  title: t('Erase recipients'),
  verb: t('Erase'),
  things: ['{count} recipient', '{count} recipients'],
  done: ['{count} recipient was erased', '{count} recipients were erased'],
  effect: t('All traces of them go: addresses, messages and what became of them. What waits is not sent. The audit keeps that it was done.'),
  destructive: true,
  typed: true,
})

export const cancelling = (): ManyAction => ({
  place: 'notifications',
  action: 'cancel',
  title: t('Cancel messages'),
  verb: t('Cancel'),
  things: ['{count} message', '{count} messages'],
  done: ['{count} message was cancelled', '{count} messages were cancelled'],
  effect: t('They do not go out. What was submitted already stays as it is. Those of campaigns, and those whose time is over, are not restored.'),
  destructive: true,
  undo: 'restore',
})
