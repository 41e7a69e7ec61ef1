/** What a filter offers of each kind of thing. */
import { call } from '@/api/client'
import type { Find } from './FoundField'

const MOST = 10

export const findJobs: Find = async (text, signal) => (await call('GET /jobs', { query: { search: text || null, limit: MOST }, signal })).map((job) => ({ value: job.name }))

export const findTemplates: Find = async (text, signal) => (await call('GET /templates', { query: { ...(text && { search: text }), limit: MOST }, signal })).map((each) => ({ value: each.template_id }))

export const findRecipients: Find = async (text, signal) => (await call('GET /recipients', { query: { ...(text && { search: text }), limit: MOST }, signal })).map((each) => ({ value: each.user_id, label: each.email }))

export const findCampaigns: Find = async (text, signal) => (await call('GET /campaigns', { query: { search: text || null, limit: MOST }, signal })).map((each) => ({ value: each.campaign_id, label: each.name }))
