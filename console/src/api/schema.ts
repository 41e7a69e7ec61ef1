// Written by `make console-types` from the OpenAPI document. Do not edit.

export type Action = "archive" | "publish" | "unpublish"
export interface ActionFilter {
  status?: "active" | "completed" | "deleted" | "paused" | null
  label?: string | null
  name?: string | null
  target?: string | null
  app?: string | null
  problem?: boolean
  search?: string | null
  all?: boolean
  ids?: string[] | null
}
export interface ActionRequest {
  action: "delete" | "label" | "pause" | "restore" | "resume" | "run"
  filter: ActionFilter
  reason?: string | null
  until?: string | null
  cancel_running?: boolean
  payload?: unknown
  labels?: Record<string, string | null> | null
  dry_run?: boolean
  expected?: number | null
  after?: string | null
  through?: string | null
  limit?: number
}
export interface AdapterSpec {
  kind: string
  config?: Record<string, unknown>
}
export interface AdapterView {
  name: string
  kind: string
  config: Record<string, unknown>
  revision: number
  changed_by: string
  changed_at: string
}
export interface Agenda {
  start: string
  end: string
  timezone: string
  entries: AgendaEntry[]
  complete: boolean
  density: AgendaHour[]
  estimated: boolean
  clock_changes: ClockChange[]
}
export interface AgendaEntry {
  kind: "campaign" | "content" | "job" | "release"
  at: string
  local: string
  timezone: string
  title: string
  id: string
  job_id: string | null
  run_id: string | null
  status: string
  action: string | null
  movable: boolean
  revision: number | null
  count: number
  schedule: string | null
  subject: string | null
  late_seconds: number | null
  needs_approval: boolean
}
export interface AgendaHour {
  at: string
  count: number
  failed: number
}
export interface ApproveRequest {
  by?: string | null
}
export interface Attempt {
  attempt: number
  outcome: string
  started_at: string | null
  finished_at: string | null
  error: string | null
  worker_id: string | null
}
export interface Attention {
  code: string
  severity: "error" | "info" | "warning"
  text: string
  count: number
  link_kind: "cluster" | "dead" | "job" | "jobs" | "queues" | "runs"
  link: Record<string, string>
}
export interface AudienceSpec {
  everyone?: boolean
  segment?: string | null
  filter?: Record<string, unknown> | null
  list?: string | null
  user_ids?: string[] | null
  sql?: string | null
}
export interface AudienceView {
  name: string
  size: number
  uploaded_by: string
  uploaded_at: string
}
export interface AuditView {
  entry_id: string
  sequence: number | null
  at: string
  namespace: string
  actor: string
  face: string
  address: string | null
  request_id: string | null
  reason: string | null
  action: string
  object_id: string | null
  object_name: string | null
  job_id: string | null
  jobs: string[][] | null
  before: unknown
  after: unknown
  detail: unknown
  previous: string | null
  hash: string | null
}
export interface Backfill {
  job_id: string
  dry_run: boolean
  scheduled_at: string[]
  left_out: string[]
  run_ids: string[]
  warnings: string[]
}
export interface BackfillRequest {
  start: string
  end: string
  dry_run?: boolean
  rate?: number | null
}
export interface Backlog {
  namespace: string
  queue: string
  target: string
  handler: string | null
  waiting: number
  oldest_available_at: string | null
  served: boolean
  reason: string | null
}
export type Backoff = "exponential" | "fixed" | "linear"
export interface BeatRequest {
  runs?: string[] | null
}
export interface Beaten {
  lease_seconds: number
  draining: boolean
  cancel: string[]
  lost: string[]
}
export interface BulkAnswer {
  lines: number
  created: number
  changed: number
  unchanged: number
  job_ids: string[] | null
  results: BulkResult[] | null
}
export interface BulkResult {
  line: number
  job_id: string
  result: "changed" | "created" | "unchanged"
  warnings: string[]
}
export interface CalendarEntry {
  scheduled_at_utc: string
  timezone: string
  local_time_display: string
  schedule_id: string
  content_id: string
  entity_type: string
  entity_id: string
  title: string | null
  action: Action
  status: string
  last_error: string | null
  execution_id: string | null
  version: number | null
  note: string | null
  adapter: string
  created_by: string
  created_at: string
  revision: number
  needs_approval: boolean
  approved_by: string | null
  window_id: string | null
  release_id: string | null
  recurrence_rule: string | null
  previous_at: string | null
  next_at: string | null
  occurrences: number | null
}
export interface CalendarFeedSpec {
  name?: string
  kinds?: ("campaigns" | "content" | "jobs")[]
  label?: string | null
  timezone?: string
}
export interface CalendarFeedView {
  feed_id: string
  name: string
  kinds: string[]
  label: string | null
  timezone: string
  created_by: string
  created_at: string
  revoked_by: string | null
  revoked_at: string | null
}
export interface CallerView {
  name: string
  method: "key" | "link" | "openid" | "owner"
  roles: Record<string, Role>
  csrf_token: string | null
  session_id: string | null
  created_at: string | null
  expires_at: string | null
  idle_expires_at: string | null
}
export interface CampaignActionFilter {
  status?: CampaignStatus | null
  search?: string | null
  all?: boolean
  ids?: string[] | null
}
export interface CampaignActionRequest {
  dry_run?: boolean
  expected?: number | null
  after?: string | null
  limit?: number
  action: "cancel" | "pause" | "resume" | "start"
  filter: CampaignActionFilter
}
export interface CampaignChannel {
  channel: string
  sent: number
  failed: number
  left: number
  others: number
}
export interface CampaignCheck {
  recipients: number
  whole: boolean
  zones: CampaignZone[]
  unreachable: number
  incomplete: number
  missing_variables: string[]
  unknown: number
  duplicates: number
  skipped: number
}
export interface CampaignCounts {
  total: number
  sent: number
  failed: number
  suppressed: number
  expired: number
  unconfirmed: number
  cancelled: number
  left: number
}
export interface CampaignEvent {
  at: string
  kind: string
  reason: string | null
  by: string
  until: string | null
}
export interface CampaignMinute {
  at: string
  sent: number
}
export interface CampaignProgress {
  minutes: CampaignMinute[]
  since: string | null
  counted: number
  channels: CampaignChannel[]
  holds: HeldMessages[]
  waves: CampaignWave[]
  events: CampaignEvent[]
}
export interface CampaignReason {
  reason?: string | null
}
export interface CampaignSpec {
  name: string
  template_id: string
  audience: AudienceSpec
  channel?: string | string[]
  template_version?: number | null
  template_vars?: Record<string, unknown>
  send_at?: string | null
  local_time?: string | null
  when_past?: WhenPast
  timezone?: string | null
  draft?: boolean
  rate?: number | null
  window?: DailyWindow | null
  prepare_seconds?: number
  canary?: number | null
  late_seconds?: number
  on_doubt?: OnDoubt | null
  topic?: string | null
  urgency?: string | null
  expires_seconds?: number | null
  max_retries?: number
  retry_seconds?: number
  description?: string | null
}
export type CampaignStatus = "cancelled" | "done" | "draft" | "failed" | "paused" | "prepared" | "preparing" | "scheduled" | "sending" | "waiting"
export interface CampaignView {
  campaign_id: string
  name: string
  status: CampaignStatus
  reason: string | null
  counts: CampaignCounts
  per_second: number | null
  eta: string | null
  waits_for: string | null
  next_at: string | null
  template_id: string
  template_version: number
  channels: string[]
  template_vars: Record<string, unknown>
  audience: Record<string, unknown>
  send_at: string | null
  local_time: string | null
  when_past: WhenPast
  timezone: string
  rate: number | null
  window: Record<string, unknown> | null
  prepare_seconds: number
  canary: number | null
  late_seconds: number
  on_doubt: string | null
  topic: string | null
  urgency: string | null
  expires_seconds: number | null
  description: string | null
  check: CampaignCheck | null
  prepared_at: string | null
  started_at: string | null
  ended_at: string | null
  created_by: string
  created_at: string
  job_id: string
}
export interface CampaignWave {
  at: string
  canary: boolean
  messages: number
  sent: number
  failed: number
  left: number
  cancelled: number
  state: string
  next_at: string | null
  waits_for: string | null
}
export interface CampaignZone {
  timezone: string
  send_at_utc: string | null
  recipients: number
  note: Record<string, unknown> | null
}
export interface CancelAnswer {
  run_id: string
  outcome: "cancelled" | "requested"
}
export interface CancelContentRequest {
  by?: string | null
}
export interface CancelRequest {
  reason?: string | null
}
export interface CeleryTarget {
  broker: "rabbitmq" | "redis"
  url: string | SecretRef
  task: string
  args?: unknown[] | null
  kwargs?: Record<string, unknown> | null
  queue?: string
  wait?: boolean
  result_url?: string | SecretRef | null
}
export interface ChannelHealth {
  channel: string
  state: "down" | "failing" | "good" | "none"
  note: string | null
  providers: ProviderHealth[]
}
export interface ChannelStep {
  channel: string
  after_seconds?: number
  unless?: "sent" | "delivered" | "read"
}
export interface ClaimRequest {
  limit?: number
  wait_seconds?: number
}
export interface Claimed {
  runs: WorkerRun[]
  draining: boolean
}
export interface ClockChange {
  at: string
  text: string
  effect: string | null
}
export interface Cluster {
  at: string
  nodes: NodeView[]
  shards: number
  shards_led: number
  leaders: ShardView[]
  jobs_estimated: boolean
  elector: ElectorView
  oldest_due_at: string | null
  backlog: Backlog[]
  counts: Counts
}
export interface CompleteRequest {
  result?: unknown
}
export interface ContentActionFilter {
  entity_type?: string | null
  entity_id?: string | null
  created_by?: string | null
  adapter?: string | null
  action?: "archive" | "publish" | "unpublish" | null
  status?: "cancelled" | "done" | "failed" | "pending" | "processing" | "skipped" | null
  start?: string | null
  end?: string | null
  all?: boolean
  ids?: string[] | null
}
export interface ContentActionRequest {
  dry_run?: boolean
  expected?: number | null
  after?: string | null
  limit?: number
  days?: number
  minutes?: number
  force?: boolean
  action: "approve" | "cancel" | "move" | "restore"
  filter: ContentActionFilter
}
export interface ContentTarget {
  adapter?: string
  kind?: string | null
}
export interface Counts {
  jobs: Record<string, number>
  runs: Record<string, number>
  dead: number
  problems: number
  estimated: boolean
}
export interface DailyWindow {
  start: string
  end: string
}
export interface DeadFilter {
  job?: string | null
  error_group?: string | null
  reason?: "exhausted" | "permanent" | "poison" | null
  before?: string | null
  all?: boolean
  dry_run?: boolean
  expected?: number | null
}
export interface DeadGroup {
  error_group: string
  reason: string
  letters: number
  jobs: number
  first_died_at: string
  last_died_at: string
  latest_error: string | null
  latest_run_id: string
  hours: number[]
}
export interface DeadLetter {
  run_id: string
  job_id: string
  job_name: string | null
  died_at: string
  reason: string
  error: string | null
  error_group: string
  scheduled_at: string
  trigger: string
  missed: boolean
  attempt: number
  idempotency_key: string | null
  parent_run: string | null
  queue: string | null
  handler: string | null
  delivered_at: string | null
  delivery_error: string | null
  payload: unknown
  attempts: Attempt[]
}
export interface DeadTarget {
  target: Record<string, unknown> | null
}
export interface Difference {
  at: string
  only_in: "first" | "second"
}
export interface Differences {
  explanation: string
  until: string
  common: number
  only_in_first: number
  only_in_second: number
  differences: Difference[]
}
export interface DigestEventSpec {
  user_id: string
  data: Record<string, unknown>
  key?: string
  event_id?: string | null
}
export interface DigestEventView {
  event_id: string
  user_id: string
  key: string
  notification_id: string
  send_at_utc: string | null
  at: string
}
export interface DigestSpec {
  template_id: string
  channel: string | string[]
  schedule: string
  max_events?: number
  topic?: string | null
  urgency?: string | null
  expires_seconds?: number | null
  is_active?: boolean
}
export interface DigestView {
  name: string
  template_id: string
  channels: string[]
  schedule: string
  max_events: number
  topic: string | null
  urgency: string | null
  expires_seconds: number | null
  is_active: boolean
  changed_by: string
  changed_at: string
}
export interface Discarded {
  discarded: number | null
  matched: number | null
  estimated: boolean
  sample: DeadLetter[]
}
export interface DrainRequest {
  undo?: boolean
}
export interface Drained {
  at: string
  nodes: NodeView[]
  warnings: string[]
}
export interface ElectorView {
  name: string | null
  ok: boolean
  errors: string[]
}
export interface EmailParts {
  subject: string
  text?: string | null
  html?: string | null
  mjml?: string | null
}
export interface EndedSessions {
  ended: number
}
export interface EntityChange {
  at: string
  action: string
  state_before: string | null
  state_after: string | null
  version: number | null
  by: string
  schedule_id: string | null
  release_id: string | null
  run_id: string | null
}
export interface EntitySpec {
  body: Record<string, unknown>
  created_by?: string | null
}
export interface EntityStanding {
  adapter: string
  state: EntityState | null
  published_version: number | null
  latest_version: number | null
  error: string | null
}
export type EntityState = "archived" | "draft" | "published" | "unpublished"
export interface EntitySummary {
  entity_type: string
  entity_id: string
  title: string | null
  state: string | null
  published_version: number | null
  latest_version: number | null
  updated_at: string | null
  adapter: string
  error: string | null
}
export interface EntityVersion {
  version: number
  created_by: string
  created_at: string
}
export interface EntityView {
  entity_type: string
  entity_id: string
  state: string | null
  published_version: number | null
  adapter: string | null
  elsewhere: EntityStanding[]
  versions: EntityVersion[]
  body: unknown
  pending: ScheduleView[]
  history: EntityChange[]
  executions: ExecutionView[]
}
export interface ErasureView {
  user_id: string
  erased_at: string
  rows: Record<string, number>
  certificate: string
}
export interface Examination {
  facts: Record<string, string>
  bounds: Record<string, string>
  findings: Finding[]
}
export interface ExecutionView {
  execution_id: string | null
  schedule_id: string
  content_id: string
  action: Action
  status: "failure" | "running" | "skipped" | "success"
  scheduled_at_utc: string
  execution_started: string | null
  execution_finished: string | null
  worker_id: string | null
  error_message: string | null
  effect: string | null
  version: number | null
  retry_count: number
  attempts: Attempt[]
  trigger: string | null
  occurrences: number | null
  until_at: string | null
  adapter: string
  created_by: string
}
export interface ExplainRequest {
  schedule: string
  timezone?: string | null
  gap?: "after" | "shift" | "skip" | null
  fold?: "both" | "first" | "second" | null
  count?: number
  compare?: OtherSchedule | null
}
export interface Explained {
  explanation: string
  timezone: string
  occurrences: PreviewedTime[]
  warnings: string[]
  clock_changes: ClockChange[]
  kind: string
  difference: Differences | null
}
export interface FailRequest {
  error: string
  permanent?: boolean
  retry_after?: number | null
}
export interface FeedSpec {
  name?: string
  entity_type?: string | null
  author?: string | null
}
export interface FeedView {
  feed_id: string
  name: string
  entity_type: string | null
  author: string | null
  created_by: string
  created_at: string
  revoked_by: string | null
  revoked_at: string | null
}
export interface Figures {
  since: string
  fired: number
  succeeded: number
  on_time: number
  late: number
  failed: number
  dead: number
  cancelled: number
  expired: number
  skipped: number
}
export interface Finding {
  what: string
  fix: string
  serious: boolean
}
export interface Found {
  kind: "campaign" | "dead" | "entity" | "job" | "message" | "queue" | "recipient" | "release" | "run" | "template"
  id: string
  title: string
  subtitle: string | null
  status: string | null
  namespace: string
}
export interface FrequencyCap {
  n: number
  per: "day" | "week"
  channel?: string | null
  topic?: string | null
}
export interface Health {
  status: string
  version: string
}
export interface HeartbeatAnswer {
  run_id: string
  status: "running" | "waiting"
  deadline_at: string | null
  cancel_requested: boolean
}
export interface HeartbeatRequest {
  seconds?: number | null
  fraction?: number | null
  text?: string | null
}
export interface HeldMessages {
  reason: string
  messages: number
}
export interface HttpTarget {
  url: string
  method?: "DELETE" | "GET" | "PATCH" | "POST" | "PUT"
  headers?: Record<string, string>
  body?: string | null
  success_codes?: number[] | null
  capture?: boolean
  capture_bytes?: number
  capture_headers?: string[]
  redirects?: number
  connect_timeout_seconds?: number
  read_timeout_seconds?: number | null
  tls?: HttpTls | null
  mode?: "async" | "sync"
  wait_seconds?: number | null
  sign_with?: string | null
}
export interface HttpTls {
  cert?: string | null
  key?: string | null
  ca?: string | null
}
export interface ImportAnswer {
  lines: number
  created: number
  schedule_ids: string[] | null
}
export interface InAppParts {
  title?: string | null
  body?: string | null
  text?: string | null
  link?: string | null
}
export interface InboxItem {
  item_id: string
  notification_id: string
  parts: Record<string, unknown>
  topic: string | null
  created_at: string
  read_at: string | null
  archived_at: string | null
}
export interface InboxToken {
  token: string
  path: string
  expires_at: string
}
export interface InboxTokenSpec {
  seconds?: number
}
export interface ItemRefusal {
  code: string
  message: string
  hint: string | null
  sample: string[]
  items: number
}
export interface ItemTally {
  dry_run: boolean
  matched: number
  estimated: boolean
  done: number
  refused: ItemRefusal[]
  ids: string[]
  sample: SampledItem[]
  cursor: string | null
}
export interface JobChange {
  entry_id: string
  at: string
  actor: string
  face: string
  reason: string | null
  action: string
  before: unknown
  after: unknown
  detail: unknown
}
export interface JobFigures {
  since: string
  seconds: number
  points: JobPoint[]
  cut: boolean
}
export interface JobPoint {
  at: string
  runs: number
  failed: number
  duration_p50_ms: number | null
  duration_p99_ms: number | null
  late_p50_ms: number | null
  late_p99_ms: number | null
}
export interface JobSpec {
  name: string
  schedule: string
  timezone?: string | null
  kind?: "cron" | "recurrence" | "interval" | "once" | null
  anchor?: string | null
  gap?: "after" | "shift" | "skip" | null
  fold?: "first" | "second" | "both" | null
  seconds?: "first" | "last" | null
  starts_at?: string | null
  ends_at?: string | null
  exclude?: string[]
  target?: Target | null
  payload?: unknown
  queue?: string
  priority?: number
  max_retries?: number
  retry_backoff?: Backoff
  retry_base_seconds?: number
  retry_max_seconds?: number
  retry_jitter?: RetryJitter
  timeout_seconds?: number
  missed_window?: MissedWindow | null
  max_missed?: number
  catch_up_seconds?: number | null
  grace_seconds?: number
  overlap?: Overlap
  jitter_seconds?: number
  expires_seconds?: number | null
  max_runs?: number | null
  idempotency_key_template?: string | null
  concurrency_key?: string | null
  dead_letter_target?: Target | null
  keep_completed_seconds?: number
  labels?: Record<string, string>
  description?: string | null
  owner?: string | null
}
export interface JobView {
  name: string
  schedule: string
  timezone: string | null
  kind: "cron" | "recurrence" | "interval" | "once" | null
  anchor: string | null
  gap: "after" | "shift" | "skip" | null
  fold: "first" | "second" | "both" | null
  seconds: "first" | "last" | null
  starts_at: string | null
  ends_at: string | null
  exclude: string[]
  target: Target | null
  payload: unknown
  queue: string
  priority: number
  max_retries: number
  retry_backoff: Backoff
  retry_base_seconds: number
  retry_max_seconds: number
  retry_jitter: RetryJitter
  timeout_seconds: number
  missed_window: MissedWindow | null
  max_missed: number
  catch_up_seconds: number | null
  grace_seconds: number
  overlap: Overlap
  jitter_seconds: number
  expires_seconds: number | null
  max_runs: number | null
  idempotency_key_template: string | null
  concurrency_key: string | null
  dead_letter_target: Target | null
  keep_completed_seconds: number
  labels: Record<string, string>
  description: string | null
  owner: string | null
  job_id: string
  status: string
  revision: number
  next_run_at: string | null
  next_run_local: string | null
  moved_from: string | null
  last_run_at: string | null
  last_outcome: string | null
  paused_reason: string | null
  paused_until: string | null
  app: string | null
  problem: string | null
  created_at: string
  updated_at: string
  completed_at: string | null
  warnings: string[]
}
export interface JoinedWorker {
  worker_id: string
  lease_seconds: number
  beat_seconds: number
}
export interface KeySpec {
  name: string
  role: Role
  namespace?: string | null
  expires_at?: string | null
  rate?: number | null
}
export interface KeyView {
  key_id: string
  name: string
  role: Role
  namespace: string
  beginning: string
  created_by: string
  created_at: string
  expires_at: string | null
  revoked_at: string | null
  last_used_at: string | null
  rate: number | null
}
export interface LimitChanges {
  concurrency?: number | null
  key_concurrency?: number | null
  rate?: number | null
  burst?: number | null
}
export interface Limits {
  concurrency?: number | null
  key_concurrency?: number | null
  rate?: number | null
  burst?: number | null
}
export interface ListedJob {
  name: string
  schedule: string
  timezone: string | null
  kind: "cron" | "recurrence" | "interval" | "once" | null
  anchor: string | null
  gap: "after" | "shift" | "skip" | null
  fold: "first" | "second" | "both" | null
  seconds: "first" | "last" | null
  starts_at: string | null
  ends_at: string | null
  exclude: string[]
  target: Target | null
  payload: unknown
  queue: string
  priority: number
  max_retries: number
  retry_backoff: Backoff
  retry_base_seconds: number
  retry_max_seconds: number
  retry_jitter: RetryJitter
  timeout_seconds: number
  missed_window: MissedWindow | null
  max_missed: number
  catch_up_seconds: number | null
  grace_seconds: number
  overlap: Overlap
  jitter_seconds: number
  expires_seconds: number | null
  max_runs: number | null
  idempotency_key_template: string | null
  concurrency_key: string | null
  dead_letter_target: Target | null
  keep_completed_seconds: number
  labels: Record<string, string>
  description: string | null
  owner: string | null
  job_id: string
  status: string
  revision: number
  next_run_at: string | null
  next_run_local: string | null
  moved_from: string | null
  last_run_at: string | null
  last_outcome: string | null
  paused_reason: string | null
  paused_until: string | null
  app: string | null
  problem: string | null
  created_at: string
  updated_at: string
  completed_at: string | null
  warnings: string[]
  strip: StripRun[]
  words: string | null
}
export interface LogLine {
  at: string
  attempt: number
  level: string
  message: string
}
export interface LoopState {
  name: string
  healthy: boolean
}
export interface MarkSpec {
  item_ids?: string[] | null
  read?: boolean | null
  archived?: boolean | null
}
export interface MemberSpec {
  user_id: string
  template_vars?: Record<string, unknown>
}
export interface MemberStep {
  notification_id: string
  status: string
  send_at_utc: string
}
export interface MemberView {
  user_id: string
  entered_at: string
  revision: number
  steps: MemberStep[]
  stopped_at: string | null
  stopped_by: string | null
}
export interface MessageBacklog {
  depth: number
  waiting: number
  oldest_age_seconds: number
  arrival_per_second: number
  drain_per_second: number
  due_in_5_minutes: number
  due_in_10_minutes: number
  due_in_60_minutes: number
  workers: number
  per_worker_per_second: number
  drain_seconds: number
  workers_needed: number
}
export type MessageStatus = "bounced" | "cancelled" | "delivered" | "expired" | "failed" | "held" | "pending" | "processing" | "sent" | "suppressed" | "unconfirmed"
export interface MessageTarget {
  broker: "kafka" | "mqtt" | "nats" | "rabbitmq" | "redis" | "sqs"
  url: string | SecretRef
  topic: string
  key?: string | null
  headers?: Record<string, string>
  format?: "envelope" | "payload"
  exchange?: string
  redis_type?: "channel" | "list" | "stream"
  mode?: "async" | "sync"
  wait_seconds?: number | null
}
export interface MinuteAhead {
  at: string
  firings: number
  jobs: number
}
export interface MinuteOfRuns {
  at: string
  fired: number
  failed: number
  skipped: number
  p50_ms: number | null
  p99_ms: number | null
}
export type MissedWindow = "RUN_ALL" | "RUN_ONCE" | "SKIP"
export interface NamespaceSpec {
  name: string
  description?: string | null
}
export interface NamespaceUse {
  jobs: number
  live_runs: number
  firings_wait_seconds: number
}
export interface NamespaceView {
  name: string
  description: string | null
  created_at: string
  quotas: Quotas
  used: NamespaceUse | null
}
export interface NewCalendarFeed {
  feed_id: string
  name: string
  kinds: string[]
  label: string | null
  timezone: string
  created_by: string
  created_at: string
  revoked_by: string | null
  revoked_at: string | null
  token: string
  path: string
}
export interface NewFeed {
  feed_id: string
  name: string
  entity_type: string | null
  author: string | null
  created_by: string
  created_at: string
  revoked_by: string | null
  revoked_at: string | null
  token: string
  path: string
}
export interface NewKey {
  key_id: string
  name: string
  role: Role
  namespace: string
  beginning: string
  created_by: string
  created_at: string
  expires_at: string | null
  revoked_at: string | null
  last_used_at: string | null
  rate: number | null
  key: string
}
export interface NodeCounts {
  live: number
  stale: number
  schedulers: number
  workers: number
}
export interface NodeView {
  node_id: string
  name: string
  state: string
  roles: string[]
  app: string | null
  handlers: string[]
  targets: string[]
  queues: string[]
  namespaces: string[]
  shards: number
  running: number
  capacity: number
  version: string
  started_at: string
  heartbeat_at: string
  heartbeat_age_seconds: number
  lease_until: string
  skew_ms: number | null
  lag_ms: number | null
  wheel_entries: number | null
  fenced: number | null
  fires: boolean | null
  elector: string | null
  elector_ok: boolean | null
  elector_error: string | null
}
export type NoticeEvent = "done" | "failed" | "missed" | "will_fail"
export interface NoticeSpec {
  url: string
  secret?: string | null
  events?: NoticeEvent[]
}
export interface NoticeView {
  url: string | null
  secret: string | null
  events: NoticeEvent[]
  job_id: string | null
}
export interface NotificationActionFilter {
  user_id?: string | null
  status?: "bounced" | "cancelled" | "delivered" | "expired" | "failed" | "held" | "pending" | "processing" | "sent" | "suppressed" | "unconfirmed" | null
  template_id?: string | null
  campaign_id?: string | null
  all?: boolean
  ids?: string[] | null
}
export interface NotificationActionRequest {
  dry_run?: boolean
  expected?: number | null
  after?: string | null
  limit?: number
  action: "cancel" | "restore"
  filter: NotificationActionFilter
}
export interface NotificationMove {
  send_at?: string | null
  local_time?: string | null
  timezone?: string | null
  fold?: "first" | "second" | null
  gap?: "after" | "shift" | null
}
export interface NotificationSettings {
  timezone?: string | null
  locale?: string | null
  quiet_hours?: QuietRange[] | QuietRange | null
  quiet_passes?: Urgency[]
  caps?: FrequencyCap[] | null
}
export interface NotificationSpec {
  template_id: string
  channel: string | (string | ChannelStep)[]
  user_id?: string | null
  address?: unknown
  template_vars?: Record<string, unknown>
  template_version?: number | string | null
  send_at?: string | null
  local_time?: string | null
  timezone?: string | null
  fold?: "first" | "second" | null
  gap?: "after" | "shift" | null
  urgency?: Urgency | null
  expires_seconds?: number | null
  max_retries?: number
  retry_seconds?: number | null
  topic?: string | null
}
export interface NotificationTarget {

}
export interface NotificationView {
  notification_id: string
  status: MessageStatus
  user_id: string | null
  channel: string
  channels: string[]
  template_id: string
  template_version: number | null
  send_at_utc: string
  local_time: string | null
  timezone: string | null
  local_time_display: string
  next_at: string | null
  expires_at: string | null
  urgency: string | null
  topic: string | null
  hold_reason: string | null
  sent_at: string | null
  failure_reason: string | null
  retry_count: number
  max_retries: number
  retry_seconds: number
  provider: string | null
  campaign_id: string | null
  created_by: string
  created_at: string
}
export interface NotificationWhy {
  notification_id: string
  status: string
  summary: string
  lines: WhyLine[]
  notification: NotificationView
}
export interface NotificationsAnswer {
  lines: number
  created: number
  notification_ids: string[] | null
}
export interface OccurrenceRecord {
  scheduled_at: string
  disposition: "fired" | "skipped" | "upcoming"
  reason: string | null
  run_id: string | null
}
export type OnDoubt = "hold" | "resend"
export type OnFailure = "continue" | "stop" | "undo"
export interface OptOut {
  channel?: string | null
  topic?: string | null
}
export interface OtherSchedule {
  schedule: string
  timezone?: string | null
}
export type Overlap = "ALLOW" | "CANCEL_RUNNING" | "QUEUE_ONE" | "SKIP"
export interface Overview {
  at: string
  nodes: NodeCounts | null
  shards: ShardCounts | null
  oldest_due_at: string | null
  queue_depth: number
  oldest_waiting_at: string | null
  queues: Record<string, number>
  live: Record<string, number>
  running: number
  dead: number
  problems: number
  jobs: Record<string, number>
  jobs_estimated: boolean
  hour: Figures
  day: Figures
  lateness: MinuteOfRuns[]
  attention: Attention[]
  first_job_fired: boolean
}
export interface PauseRequest {
  reason?: string | null
  until?: string | null
}
export interface Preview {
  explanation: string
  timezone: string
  occurrences: PreviewedTime[]
  warnings: string[]
  clock_changes: ClockChange[]
}
export interface PreviewInCompany {
  explanation: string
  timezone: string
  occurrences: PreviewedTime[]
  warnings: string[]
  clock_changes: ClockChange[]
  shares_minute: number | null
  shares_estimated: boolean
  spread_offer: number | null
}
export interface PreviewRequest {
  channel?: string | null
  version?: number | null
  locale?: string | null
  timezone?: string | null
  user_id?: string | null
  template_vars?: Record<string, unknown>
  texts?: TemplateSpec | null
}
export interface PreviewedTime {
  scheduled_at: string
  local: string
  note: string | null
  skipped: string | null
}
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  code: string
  field: string | null
  hint: string | null
  position: number | null
  request_id: string | null
}
export interface ProviderHealth {
  name: string
  kind: string
  configured: boolean
  enabled: boolean
  state: "failing" | "good" | "off" | "open" | "unused"
  open_until: string | null
  reason: string | null
  accepted: number
  rejected: number
  failed: number
  unclear: number
  deferred: number
  accepted_at: string | null
  failed_at: string | null
}
export interface ProviderSpec {
  channel: string
  kind: string
  config?: Record<string, unknown>
  priority?: number
  rate?: number | null
  concurrency?: number | null
  on_doubt?: "hold" | "resend" | null
  enabled?: boolean
}
export interface ProviderTest {
  address?: string | null
}
export interface ProviderTrial {
  success: boolean
  outcome: string
  detail: string | null
}
export interface ProviderView {
  name: string
  channel: string
  kind: string
  config: Record<string, unknown>
  priority: number
  rate: number | null
  concurrency: number | null
  on_doubt: string | null
  enabled: boolean
  revision: number
  changed_by: string
  changed_at: string
}
export interface PushParts {
  title: string
  body?: string | null
  link?: string | null
}
export interface QueueAnswer {
  name: string
  paused: boolean
  paused_at: string | null
  paused_reason: string | null
  concurrency: number | null
  key_concurrency: number | null
  rate: number | null
  burst: number | null
  running: number
  waiting: number
  oldest_available_at: string | null
  warnings: string[]
  arrival_per_second: number
  drain_per_second: number
  hour: QueueHour | null
  messages: MessageBacklog | null
}
export interface QueueHour {
  since: string
  fired: number[]
  ended: number[]
  cut: boolean
}
export interface QueuePauseRequest {
  reason?: string | null
}
export interface QueueView {
  name: string
  paused: boolean
  paused_at: string | null
  paused_reason: string | null
  concurrency: number | null
  key_concurrency: number | null
  rate: number | null
  burst: number | null
  running: number
  waiting: number
  oldest_available_at: string | null
  warnings: string[]
}
export interface QuietRange {
  start: string
  end: string
  days?: string[] | null
}
export interface QuotaChanges {
  description?: string | null
  jobs?: number | null
  live_runs?: number | null
  firings_per_second?: number | null
  payload_bytes?: number | null
  history_days?: number | null
  campaign_sends_per_day?: number | null
}
export interface Quotas {
  jobs: number | null
  live_runs: number | null
  firings_per_second: number | null
  payload_bytes: number | null
  history_days: number | null
  campaign_sends_per_day: number | null
}
export interface Readiness {
  status: string
  database: string
  loops: LoopState[]
  warnings: string[]
}
export interface RecipientActionFilter {
  search?: string
  all?: boolean
  ids?: string[] | null
}
export interface RecipientActionRequest {
  dry_run?: boolean
  expected?: number | null
  after?: string | null
  limit?: number
  action: "erase" | "suppress" | "unsuppress"
  filter: RecipientActionFilter
}
export interface RecipientEventSpec {
  user_id: string
  event: string
}
export interface RecipientExport {
  recipient: RecipientView
  notifications: NotificationView[]
  more: boolean
  suppressions: Record<string, unknown>[]
}
export interface RecipientLine {
  email?: string | null
  phone?: string | null
  devices?: Record<string, unknown>[] | null
  addresses?: Record<string, unknown> | null
  timezone?: string | null
  locale?: string | null
  quiet_hours?: QuietRange[] | QuietRange | null
  opt_outs?: OptOut[] | null
  caps?: FrequencyCap[] | null
  fields?: Record<string, unknown> | null
  user_id: string
}
export interface RecipientSpec {
  email?: string | null
  phone?: string | null
  devices?: Record<string, unknown>[] | null
  addresses?: Record<string, unknown> | null
  timezone?: string | null
  locale?: string | null
  quiet_hours?: QuietRange[] | QuietRange | null
  opt_outs?: OptOut[] | null
  caps?: FrequencyCap[] | null
  fields?: Record<string, unknown> | null
}
export interface RecipientView {
  user_id: string
  email: string | null
  phone: string | null
  devices: unknown[]
  addresses: Record<string, unknown>
  timezone: string | null
  locale: string | null
  quiet_hours: unknown
  opt_outs: unknown[]
  caps: unknown[]
  fields: Record<string, unknown>
  suppressed_at: string | null
  suppressed_reason: string | null
  created_at: string
  updated_at: string
}
export interface RecipientsAnswer {
  lines: number
  created: number
  changed: number
}
export interface RecurringChanges {
  recurrence_rule?: string
  recurrence_end?: string | null
  timezone?: string | null
  local_time?: string | null
  is_active?: boolean
  template_id?: string
  template_vars?: Record<string, unknown>
  channel?: string | string[]
}
export interface RecurringSpec {
  recurrence_rule: string
  template_id: string
  channel: string | string[]
  user_id?: string | null
  address?: unknown
  template_vars?: Record<string, unknown>
  timezone?: string | null
  local_time?: string | null
  recurrence_end?: string | null
  is_active?: boolean
  topic?: string | null
  urgency?: string | null
  expires_seconds?: number | null
  max_retries?: number
  name?: string | null
}
export interface RecurringView {
  schedule_id: string
  name: string | null
  user_id: string | null
  recurrence_rule: string
  recurrence_end: string | null
  timezone: string
  follows_recipient: boolean
  local_time: string | null
  next_fire_at: string | null
  is_active: boolean
  template_id: string
  channel: string | string[]
  template_vars: Record<string, unknown>
  job_id: string
  created_by: string
  created_at: string
}
export interface RedriveAnswer {
  run_id: string
  parent_run: string
}
export interface RedriveOneRequest {
  payload?: unknown
}
export interface RedriveRequest {
  job?: string | null
  error_group?: string | null
  reason?: "exhausted" | "permanent" | "poison" | null
  before?: string | null
  all?: boolean
  dry_run?: boolean
  expected?: number | null
  rate?: number | null
}
export interface Redriven {
  redriven: number | null
  matched: number | null
  estimated: boolean
  sample: DeadLetter[]
}
export interface Refusal {
  code: string
  message: string
  hint: string | null
  sample: string[]
  jobs: number
}
export interface ReleaseActionFilter {
  created_by?: string | null
  start?: string | null
  end?: string | null
  search?: string | null
  all?: boolean
  ids?: string[] | null
}
export interface ReleaseActionRequest {
  dry_run?: boolean
  expected?: number | null
  after?: string | null
  limit?: number
  days?: number
  minutes?: number
  force?: boolean
  action: "approve" | "cancel" | "move" | "restore"
  filter: ReleaseActionFilter
}
export interface ReleaseAddition {
  items: ReleaseItemSpec[]
  force?: boolean
}
export interface ReleaseFinding {
  code: string
  message: string
  content_id: string | null
  warning: boolean
}
export interface ReleaseItem {
  schedule_id: string
  content_id: string
  entity_type: string
  entity_id: string
  title: string | null
  action: Action
  version: number | null
  note: string | null
  status: string
  result: string | null
  error: string | null
}
export interface ReleaseItemSpec {
  entity_type: string
  entity_id: string | number
  action: Action
  version?: number | null
  note?: string | null
}
export interface ReleaseMove {
  local_time?: string | null
  timezone?: string | null
  at?: string | null
  fold?: "first" | "second" | null
  gap?: "after" | "shift" | null
  force?: boolean
}
export interface ReleaseSpec {
  items: ReleaseItemSpec[]
  created_by?: string | null
  local_time?: string | null
  timezone?: string | null
  at?: string | null
  on_failure?: OnFailure
  preflight_seconds?: number | null
  note?: string | null
  max_retries?: number
  catch_up_seconds?: number
  adapter?: string
  fold?: "first" | "second" | null
  gap?: "after" | "shift" | null
  needs_approval?: boolean
  force?: boolean
}
export interface ReleaseView {
  release_id: string
  status: string
  scheduled_at_utc: string
  timezone: string
  local_time_display: string
  items: ReleaseItem[]
  on_failure: OnFailure
  preflight_seconds: number | null
  checked_at: string | null
  findings: ReleaseFinding[]
  adapter: string
  retry_count: number
  max_retries: number
  catch_up_seconds: number
  last_error: string | null
  note: string | null
  created_by: string
  created_at: string
  executed_at: string | null
  needs_approval: boolean
  approved_by: string | null
  approved_at: string | null
  cancelled_by: string | null
  cancelled_at: string | null
  job_id: string
  revision: number
}
export interface RenderedView {
  channel: string
  locale: string
  parts: Record<string, string>
  sms_length: number | null
  sms_segments: number | null
  sms_encoding: string | null
}
export interface ReportAnswer {
  run_id: string
  status: string
}
export interface ReportTaken {
  events: number
  matched: number
  noted: number
}
export interface ReportVerdict {
  run_id: string
  accepted: boolean
  status: string | null
  again: boolean
  code: string | null
  detail: string | null
}
export interface ReportVerdicts {
  reports: ReportVerdict[]
}
export interface ReportedLine {
  message: string
  level?: string
  at?: string | null
}
export interface ReportedProgress {
  fraction: number
  text?: string | null
}
export interface ReportsRequest {
  reports: RunReport[]
}
export interface RescheduleRequest {
  at: string
}
export type RetryJitter = "full" | "none"
export type Role = "admin" | "editor" | "operator" | "viewer" | "worker"
export interface RotateRequest {
  overlap_seconds?: number
}
export interface RunActionFilter {
  job?: string | null
  status?: string | null
  trigger?: string | null
  include?: "skipped" | null
  queue?: string | null
  since?: string | null
  until?: string | null
  late?: boolean
  error?: string | null
  worker?: string | null
  all?: boolean
  ids?: string[] | null
}
export interface RunActionRequest {
  action: "again" | "cancel"
  filter: RunActionFilter
  reason?: string | null
  dry_run?: boolean
  expected?: number | null
  after?: string | null
  limit?: number
}
export interface RunCounts {
  pending: number
  running: number
  failed: number
  waiting: number
  success: number
  dead: number
  cancelled: number
  expired: number
  skipped: number
  since: string
  estimated: boolean
}
export interface RunDetail {
  run_id: string | null
  job_id: string
  job_name: string | null
  status: "cancelled" | "dead" | "expired" | "failed" | "pending" | "running" | "skipped" | "success" | "waiting"
  trigger: "backfill" | "catch_up" | "manual" | "redrive" | "schedule" | null
  missed: boolean
  scheduled_at: string
  started_at: string | null
  finished_at: string | null
  late_seconds: number | null
  attempt: number
  next_attempt_at: string | null
  error: string | null
  result: unknown
  worker_id: string | null
  claimed_at: string | null
  lease_until: string | null
  idempotency_key: string | null
  reason: string | null
  until_at: string | null
  occurrences: number | null
  parent_run: string | null
  revision: number | null
  payload: unknown
  progress: unknown
  attempts: Attempt[]
  log: LogLine[]
  waiting_for: string | null
  expires_at: string | null
  deadline_at: string | null
  cancel_requested_at: string | null
  fired_at: string | null
  due_at: string | null
  waits: RunWait[]
  concurrency_key: string | null
}
export interface RunMade {
  run_id: string
  job: string
}
export interface RunRefusal {
  code: string
  message: string
  hint: string | null
  sample: string[]
  runs: number
}
export interface RunReport {
  run_id: string
  token: string
  outcome?: "cancel" | "failure" | "retry" | "snooze" | "success" | null
  result?: unknown
  error?: string | null
  permanent?: boolean
  delay_seconds?: number | null
  log?: ReportedLine[]
  progress?: ReportedProgress | null
}
export interface RunRequest {
  payload?: unknown
}
export interface RunTally {
  dry_run: boolean
  matched: number
  estimated: boolean
  done: number
  requested: number
  refused: RunRefusal[]
  run_ids: string[]
  sample: SampledRun[]
  cursor: string | null
}
export interface RunView {
  run_id: string | null
  job_id: string
  job_name: string | null
  status: "cancelled" | "dead" | "expired" | "failed" | "pending" | "running" | "skipped" | "success" | "waiting"
  trigger: "backfill" | "catch_up" | "manual" | "redrive" | "schedule" | null
  missed: boolean
  scheduled_at: string
  started_at: string | null
  finished_at: string | null
  late_seconds: number | null
  attempt: number
  next_attempt_at: string | null
  error: string | null
  result: unknown
  worker_id: string | null
  claimed_at: string | null
  lease_until: string | null
  idempotency_key: string | null
  reason: string | null
  until_at: string | null
  occurrences: number | null
  parent_run: string | null
  revision: number | null
}
export interface RunWait {
  from: "due" | "failed" | "finished" | "fired" | "nominal" | "now" | "snoozed" | "started"
  to: "due" | "failed" | "finished" | "fired" | "nominal" | "now" | "snoozed" | "started"
  at: string
  seconds: number
  cause: string | null
}
export interface SampledItem {
  id: string
  name: string
  status: string | null
}
export interface SampledJob {
  job_id: string
  name: string
  status: string
}
export interface SampledRun {
  run_id: string
  job_name: string
  status: string
}
export interface ScheduleMove {
  local_time?: string | null
  timezone?: string | null
  at?: string | null
  recurrence_rule?: string | null
  fold?: "first" | "second" | null
  gap?: "after" | "shift" | null
  force?: boolean
}
export interface ScheduleSpec {
  entity_type: string
  entity_id: string | number
  action: Action
  created_by?: string | null
  local_time?: string | null
  timezone?: string | null
  at?: string | null
  recurrence_rule?: string | null
  version?: number | null
  note?: string | null
  max_retries?: number
  catch_up_seconds?: number
  adapter?: string
  fold?: "first" | "second" | null
  gap?: "after" | "shift" | null
  needs_approval?: boolean
  force?: boolean
}
export interface ScheduleView {
  schedule_id: string
  content_id: string
  entity_type: string
  entity_id: string
  title: string | null
  action: Action
  status: string
  scheduled_at_utc: string
  timezone: string
  local_time_display: string
  recurrence_rule: string | null
  next_times: string[]
  skipped_times: string[]
  version: number | null
  adapter: string
  retry_count: number
  max_retries: number
  catch_up_seconds: number | null
  last_error: string | null
  note: string | null
  created_by: string
  created_at: string
  executed_at: string | null
  needs_approval: boolean
  approved_by: string | null
  approved_at: string | null
  cancelled_by: string | null
  cancelled_at: string | null
  window_id: string | null
  window_opens_at: string | null
  release_id: string | null
  job_id: string | null
  revision: number
  warnings: string[]
}
export interface SecretRef {
  secret: string
}
export interface SecretRequest {
  value: string
  hosts?: string[]
  kinds?: string[]
}
export interface SecretUses {
  jobs: number
  estimated: boolean
  sample: string[]
  providers: string[]
  adapters: string[]
}
export interface SecretView {
  name: string
  hosts: string[]
  kinds: string[]
  created_at: string
  updated_at: string
}
export interface SegmentSpec {
  filter: Record<string, unknown>
  description?: string | null
}
export interface SegmentView {
  name: string
  filter: Record<string, unknown>
  description: string | null
  recipients: number | null
  changed_by: string
  changed_at: string
}
export interface SequenceSpec {
  steps: SequenceStep[]
  stop_on?: string[]
  topic?: string | null
}
export interface SequenceStep {
  template_id: string
  channel: string | string[]
  day?: number | null
  at?: string | null
  after_seconds?: number | null
  template_vars?: Record<string, unknown>
  urgency?: string | null
  expires_seconds?: number | null
}
export interface SequenceView {
  name: string
  steps: SequenceStep[]
  stop_on: string[]
  topic: string | null
  revision: number
  changed_by: string
  changed_at: string
}
export interface ServerSentEvent {
  event: string
  data: string
  id: string | null
}
export interface SessionView {
  session_id: string
  name: string
  method: "link" | "openid"
  address: string | null
  agent: string | null
  created_at: string
  used_at: string
  expires_at: string
  current: boolean
}
export interface ShardCounts {
  total: number
  led: number
}
export interface ShardView {
  shard: number
  leader: string | null
  leader_id: string | null
  epoch: number
  lease_left_seconds: number | null
  taken_at: string | null
  jobs: number
  wheel_entries: number | null
}
export interface ShellTarget {
  command?: string[] | null
  script?: string | null
  environment?: Record<string, string>
  directory?: string | null
  success_codes?: number[] | null
  permanent_codes?: number[]
}
export interface SignInLink {
  url: string
  expires_at: string
}
export interface SkipRequest {
  at?: string | null
}
export interface SmsParts {
  text: string
}
export interface StartRequest {
  now?: boolean
}
export interface StoppedSequences {
  stopped: string[]
}
export interface StripRun {
  run_id: string | null
  status: string
  at: string
  late_seconds: number | null
  seconds: number | null
}
export interface SuppressionSpec {
  reason?: string
}
export interface SuppressionView {
  channel: string
  address: string
  reason: string
  since: string
}
export interface Tally {
  dry_run: boolean
  matched: number
  done: number
  unchanged: number
  refused: Refusal[]
  run_ids: string[]
  job_ids: string[]
  sample: SampledJob[]
  through: string | null
  cursor: string | null
}
export interface Target {
  handler?: string
  http?: HttpTarget
  message?: MessageTarget
  celery?: CeleryTarget
  shell?: ShellTarget
  content?: ContentTarget
  notification?: NotificationTarget
}
export interface TemplateActionFilter {
  search?: string
  all?: boolean
  ids?: string[] | null
}
export interface TemplateActionRequest {
  dry_run?: boolean
  expected?: number | null
  after?: string | null
  limit?: number
  action: "delete" | "restore"
  filter: TemplateActionFilter
}
export interface TemplateSpec {
  email?: EmailParts | null
  sms?: SmsParts | null
  push?: PushParts | null
  in_app?: InAppParts | null
  others?: Record<string, Record<string, string>> | null
  locale?: string | null
  variables?: Record<string, string | VariableSpec> | null
  urgency?: Urgency | null
  expires_seconds?: number | null
  topic?: string | null
}
export interface TemplateVersionView {
  version: number
  locales: string[]
  created_by: string
  created_at: string
}
export interface TemplateView {
  template_id: string
  version: number
  latest_version: number
  locales: Record<string, unknown>
  variables: Record<string, unknown>
  urgency: string | null
  expires_seconds: number | null
  topic: string | null
  created_by: string
  created_at: string
  deleted_at: string | null
}
export interface Trial {
  success: boolean
  outcome: string
  error: string | null
  result: unknown
  seconds: number
  log: string[]
}
export interface TrialRequest {
  target?: Record<string, unknown> | null
  job?: string | null
  payload?: unknown
  timeout_seconds?: number
}
export interface TrialSpec {
  channel?: string | null
  version?: number | null
  locale?: string | null
  timezone?: string | null
  user_id?: string | null
  template_vars?: Record<string, unknown>
  address?: unknown
}
export type Trigger = "backfill" | "catch_up" | "manual" | "redrive" | "schedule"
export interface Unread {
  unread: number
}
export interface Upcoming {
  at: string
  start: string
  minutes: MinuteAhead[]
  estimated: boolean
}
export type Urgency = "asap" | "digest" | "time_sensitive"
export interface VariableSpec {
  type?: "string" | "number" | "integer" | "boolean" | "date" | "datetime" | "list" | "object" | "any"
  required?: boolean
  default?: unknown
  sample?: unknown
}
export type WhenPast = "next_day" | "send_now" | "skip"
export interface Why {
  scheduled_at: string
  disposition: "fired" | "skipped" | "upcoming"
  reason: string | null
  run_id: string | null
  text: string
  status: string | null
}
export interface WhyLine {
  at: string
  local: string
  kind: string
  text: string
  detail: Record<string, unknown>
}
export interface WindowSpec {
  entity_type: string
  entity_id: string | number
  created_by?: string | null
  starts: string
  ends: string
  timezone?: string | null
  recurrence_rule?: string | null
  version?: number | null
  note?: string | null
  max_retries?: number
  adapter?: string
  fold?: "first" | "second" | null
  gap?: "after" | "shift" | null
  needs_approval?: boolean
  force?: boolean
}
export interface WindowView {
  window_id: string
  starts: ScheduleView
  ends: ScheduleView | null
  open_seconds: number | null
}
export interface WorkerLeft {
  worker_id: string
  given_back: number
}
export interface WorkerRun {
  run_id: string
  token: string
  handler: string
  payload: unknown
  job_id: string
  job_name: string
  attempt: number
  trigger: Trigger
  missed: boolean
  scheduled_at: string
  idempotency_key: string
  timeout_seconds: number
  deadline_at: string
}
export interface WorkerSpec {
  name: string
  handlers: string[]
  queues?: string[] | null
  capacity?: number
  lease_seconds?: number
}
export interface ZoneFound {
  zone: string
  offset: string
  abbreviation: string
}

/** The defaults and ranges of the fields of a job. */
export const JOB_FIELDS = {
  timezone: { default: null },
  kind: { default: null },
  anchor: { default: null },
  gap: { default: null },
  fold: { default: null },
  seconds: { default: null },
  starts_at: { default: null },
  ends_at: { default: null },
  exclude: { default: [] },
  target: { default: null },
  payload: { default: null },
  queue: { default: "default" },
  priority: { default: 2, min: 0, max: 3 },
  max_retries: { default: 3, min: 0, max: 100 },
  retry_backoff: { default: "exponential" },
  retry_base_seconds: { default: 60, min: 0, max: 2592000 },
  retry_max_seconds: { default: 3600, min: 0, max: 2592000 },
  retry_jitter: { default: "none" },
  timeout_seconds: { default: 300, min: 1, max: 2592000 },
  missed_window: { default: null },
  max_missed: { default: 100, min: 0, max: 10000 },
  catch_up_seconds: { default: null, min: 0, max: 316224000 },
  grace_seconds: { default: 60, min: 0, max: 86400 },
  overlap: { default: "ALLOW" },
  jitter_seconds: { default: 0, min: 0, max: 86400 },
  expires_seconds: { default: null, min: 1, max: 316224000 },
  max_runs: { default: null, min: 1, max: 2147483647 },
  idempotency_key_template: { default: null },
  concurrency_key: { default: null },
  dead_letter_target: { default: null },
  keep_completed_seconds: { default: 86400, min: 0, max: 316224000 },
  labels: { default: {} },
  description: { default: null },
  owner: { default: null },
} as const

export interface Operations {
  'POST /jobs': {
    path: null
    query: null
    body: JobSpec
    answer: JobView
  }
  'GET /jobs': {
    path: null
    query: { status?: "active" | "completed" | "deleted" | "paused" | null; label?: string | null; name?: string | null; target?: string | null; app?: string | null; problem?: boolean; search?: string | null; sort?: "-created_at" | "-name" | "created_at" | "name" | "next_run_at"; expand?: "strip" | null; limit?: number; cursor?: string | null }
    body: null
    answer: ListedJob[]
  }
  'GET /jobs/{job}': {
    path: { job: string }
    query: null
    body: null
    answer: JobView
  }
  'PATCH /jobs/{job}': {
    path: { job: string }
    query: null
    body: Record<string, unknown>
    answer: JobView
  }
  'DELETE /jobs/{job}': {
    path: { job: string }
    query: { cancel_running?: boolean }
    body: null
    answer: null
  }
  'PUT /jobs/by-name/{name}': {
    path: { name: string }
    query: null
    body: JobSpec
    answer: JobView
  }
  'POST /jobs/{job}/restore': {
    path: { job: string }
    query: null
    body: null
    answer: JobView
  }
  'POST /jobs/{job}/pause': {
    path: { job: string }
    query: null
    body: PauseRequest
    answer: JobView
  }
  'POST /jobs/{job}/resume': {
    path: { job: string }
    query: null
    body: null
    answer: JobView
  }
  'POST /jobs/{job}/reschedule': {
    path: { job: string }
    query: null
    body: RescheduleRequest
    answer: JobView
  }
  'POST /jobs/{job}/skip-next': {
    path: { job: string }
    query: null
    body: SkipRequest
    answer: JobView
  }
  'POST /jobs/{job}/run': {
    path: { job: string }
    query: null
    body: RunRequest
    answer: RunMade
  }
  'POST /jobs/{job}/backfill': {
    path: { job: string }
    query: null
    body: BackfillRequest
    answer: Backfill
  }
  'GET /jobs/{job}/preview': {
    path: { job: string }
    query: { count?: number }
    body: null
    answer: Preview
  }
  'POST /preview': {
    path: null
    query: { count?: number }
    body: JobSpec
    answer: PreviewInCompany
  }
  'GET /jobs/{job}/runs': {
    path: { job: string }
    query: { status?: string | null; trigger?: string | null; include?: "skipped" | null; limit?: number; cursor?: string | null }
    body: null
    answer: RunView[]
  }
  'GET /jobs/{job}/occurrences': {
    path: { job: string }
    query: { start?: string | null; end?: string | null; limit?: number }
    body: null
    answer: OccurrenceRecord[]
  }
  'GET /jobs/{job}/why': {
    path: { job: string }
    query: { at?: string | null; past?: number; ahead?: number }
    body: null
    answer: Why[]
  }
  'POST /jobs/bulk': {
    path: null
    query: { chunk?: number; ids?: boolean; existing?: "refuse" | "replace"; results?: boolean }
    body: string
    answer: BulkAnswer
  }
  'POST /jobs/actions': {
    path: null
    query: null
    body: ActionRequest
    answer: Tally
  }
  'POST /runs/actions': {
    path: null
    query: null
    body: RunActionRequest
    answer: RunTally
  }
  'GET /runs': {
    path: null
    query: { job?: string | null; status?: string | null; trigger?: string | null; include?: "skipped" | null; queue?: string | null; since?: string | null; until?: string | null; late?: boolean; error?: string | null; worker?: string | null; limit?: number; cursor?: string | null }
    body: null
    answer: RunView[]
  }
  'GET /runs/counts': {
    path: null
    query: { job?: string | null; status?: string | null; trigger?: string | null; include?: "skipped" | null; queue?: string | null; since?: string | null; until?: string | null; late?: boolean; error?: string | null; worker?: string | null }
    body: null
    answer: RunCounts
  }
  'GET /runs/{run}': {
    path: { run: string }
    query: null
    body: null
    answer: RunDetail
  }
  'GET /runs/{run}/log': {
    path: { run: string }
    query: { after?: string | null; limit?: number }
    body: null
    answer: LogLine[]
  }
  'POST /runs/{run}/again': {
    path: { run: string }
    query: null
    body: RunRequest
    answer: RunMade
  }
  'POST /runs/{run}/cancel': {
    path: { run: string }
    query: null
    body: CancelRequest
    answer: CancelAnswer
  }
  'POST /runs/{run}/complete': {
    path: { run: string }
    query: null
    body: CompleteRequest
    answer: ReportAnswer
  }
  'POST /runs/{run}/fail': {
    path: { run: string }
    query: null
    body: FailRequest
    answer: ReportAnswer
  }
  'POST /runs/{run}/heartbeat': {
    path: { run: string }
    query: null
    body: HeartbeatRequest
    answer: HeartbeatAnswer
  }
  'POST /workers': {
    path: null
    query: null
    body: WorkerSpec
    answer: JoinedWorker
  }
  'GET /workers': {
    path: null
    query: null
    body: null
    answer: NodeView[]
  }
  'POST /workers/{worker}/claims': {
    path: { worker: string }
    query: null
    body: ClaimRequest
    answer: Claimed
  }
  'POST /workers/{worker}/beats': {
    path: { worker: string }
    query: null
    body: BeatRequest
    answer: Beaten
  }
  'POST /workers/reports': {
    path: null
    query: null
    body: ReportsRequest
    answer: ReportVerdicts
  }
  'DELETE /workers/{worker}': {
    path: { worker: string }
    query: null
    body: null
    answer: WorkerLeft
  }
  'GET /dead': {
    path: null
    query: { job?: string | null; error_group?: string | null; reason?: "exhausted" | "permanent" | "poison" | null; sort?: "-died_at" | "died_at"; limit?: number; cursor?: string | null }
    body: null
    answer: DeadLetter[]
  }
  'GET /dead/groups': {
    path: null
    query: { job?: string | null; limit?: number }
    body: null
    answer: DeadGroup[]
  }
  'GET /dead/target': {
    path: null
    query: null
    body: null
    answer: DeadTarget
  }
  'PUT /dead/target': {
    path: null
    query: null
    body: DeadTarget
    answer: DeadTarget
  }
  'GET /dead/{run}': {
    path: { run: string }
    query: null
    body: null
    answer: DeadLetter
  }
  'POST /dead/{run}/redrive': {
    path: { run: string }
    query: null
    body: RedriveOneRequest
    answer: RedriveAnswer
  }
  'POST /dead/{run}/discard': {
    path: { run: string }
    query: null
    body: null
    answer: null
  }
  'POST /dead/redrive': {
    path: null
    query: null
    body: RedriveRequest
    answer: Redriven
  }
  'POST /dead/discard': {
    path: null
    query: null
    body: DeadFilter
    answer: Discarded
  }
  'GET /queues': {
    path: null
    query: { drain_seconds?: number; expand?: "hour" | null }
    body: null
    answer: QueueAnswer[]
  }
  'GET /queues/{queue}': {
    path: { queue: string }
    query: { drain_seconds?: number; expand?: "hour" | null }
    body: null
    answer: QueueAnswer
  }
  'PUT /queues/{queue}': {
    path: { queue: string }
    query: null
    body: Limits
    answer: QueueView
  }
  'PATCH /queues/{queue}': {
    path: { queue: string }
    query: null
    body: LimitChanges
    answer: QueueView
  }
  'POST /queues/{queue}/pause': {
    path: { queue: string }
    query: null
    body: QueuePauseRequest
    answer: QueueView
  }
  'POST /queues/{queue}/resume': {
    path: { queue: string }
    query: null
    body: null
    answer: QueueView
  }
  'POST /targets/test': {
    path: null
    query: null
    body: TrialRequest
    answer: Trial
  }
  'POST /keys': {
    path: null
    query: null
    body: KeySpec
    answer: NewKey
  }
  'GET /keys': {
    path: null
    query: { every?: boolean; limit?: number; cursor?: string | null }
    body: null
    answer: KeyView[]
  }
  'DELETE /keys/{key}': {
    path: { key: string }
    query: null
    body: null
    answer: KeyView
  }
  'POST /keys/{key}/rotate': {
    path: { key: string }
    query: null
    body: RotateRequest
    answer: NewKey
  }
  'POST /namespaces': {
    path: null
    query: null
    body: NamespaceSpec
    answer: NamespaceView
  }
  'GET /namespaces': {
    path: null
    query: null
    body: null
    answer: NamespaceView[]
  }
  'GET /namespaces/{namespace}': {
    path: { namespace: string }
    query: null
    body: null
    answer: NamespaceView
  }
  'PATCH /namespaces/{namespace}': {
    path: { namespace: string }
    query: null
    body: QuotaChanges
    answer: NamespaceView
  }
  'GET /secrets': {
    path: null
    query: null
    body: null
    answer: SecretView[]
  }
  'GET /secrets/{secret}/uses': {
    path: { secret: string }
    query: null
    body: null
    answer: SecretUses
  }
  'PUT /secrets/{secret}': {
    path: { secret: string }
    query: null
    body: SecretRequest
    answer: null
  }
  'DELETE /secrets/{secret}': {
    path: { secret: string }
    query: null
    body: null
    answer: null
  }
  'GET /session': {
    path: null
    query: null
    body: null
    answer: CallerView
  }
  'DELETE /session': {
    path: null
    query: null
    body: null
    answer: null
  }
  'GET /sessions': {
    path: null
    query: { every?: boolean; limit?: number; cursor?: string | null }
    body: null
    answer: SessionView[]
  }
  'DELETE /sessions': {
    path: null
    query: { name?: string | null }
    body: null
    answer: EndedSessions
  }
  'DELETE /sessions/{session}': {
    path: { session: string }
    query: null
    body: null
    answer: null
  }
  'POST /links': {
    path: null
    query: null
    body: null
    answer: SignInLink
  }
  'POST /content/schedules': {
    path: null
    query: null
    body: ScheduleSpec
    answer: ScheduleView
  }
  'GET /content/schedules': {
    path: null
    query: { entity_type?: string | null; entity_id?: string | null; created_by?: string | null; adapter?: string | null; action?: "archive" | "publish" | "unpublish" | null; status?: "cancelled" | "done" | "failed" | "pending" | "processing" | "skipped" | null; start?: string | null; end?: string | null; sort?: "-scheduled_at" | "scheduled_at"; limit?: number; cursor?: string | null }
    body: null
    answer: ScheduleView[]
  }
  'GET /content/schedules/{schedule}': {
    path: { schedule: string }
    query: null
    body: null
    answer: ScheduleView
  }
  'POST /content/schedules/{schedule}/reschedule': {
    path: { schedule: string }
    query: null
    body: ScheduleMove
    answer: ScheduleView
  }
  'POST /content/schedules/{schedule}/cancel': {
    path: { schedule: string }
    query: null
    body: CancelContentRequest
    answer: ScheduleView
  }
  'POST /content/schedules/{schedule}/skip': {
    path: { schedule: string }
    query: null
    body: null
    answer: ScheduleView
  }
  'POST /content/schedules/{schedule}/run': {
    path: { schedule: string }
    query: null
    body: null
    answer: ScheduleView
  }
  'POST /content/schedules/{schedule}/approve': {
    path: { schedule: string }
    query: null
    body: ApproveRequest
    answer: ScheduleView
  }
  'POST /content/windows': {
    path: null
    query: null
    body: WindowSpec
    answer: WindowView
  }
  'PUT /content/entities/{entity_type}/{entity_id}': {
    path: { entity_type: string; entity_id: string }
    query: null
    body: EntitySpec
    answer: EntityView
  }
  'GET /content/entities/{entity_type}/{entity_id}': {
    path: { entity_type: string; entity_id: string }
    query: null
    body: null
    answer: EntityView
  }
  'GET /content/entities': {
    path: null
    query: { entity_type?: string | null; adapter?: string; state?: "archived" | "draft" | "published" | "unpublished" | null; search?: string; sort?: "-entity" | "entity"; limit?: number; cursor?: string | null }
    body: null
    answer: EntitySummary[]
  }
  'POST /content/releases': {
    path: null
    query: null
    body: ReleaseSpec
    answer: ReleaseView
  }
  'GET /content/releases': {
    path: null
    query: { created_by?: string | null; start?: string | null; end?: string | null; search?: string | null; sort?: "-scheduled_at" | "scheduled_at"; limit?: number; cursor?: string | null }
    body: null
    answer: ReleaseView[]
  }
  'GET /content/releases/{release}': {
    path: { release: string }
    query: null
    body: null
    answer: ReleaseView
  }
  'POST /content/releases/{release}/reschedule': {
    path: { release: string }
    query: null
    body: ReleaseMove
    answer: ReleaseView
  }
  'POST /content/releases/{release}/cancel': {
    path: { release: string }
    query: null
    body: CancelContentRequest
    answer: ReleaseView
  }
  'POST /content/releases/{release}/run': {
    path: { release: string }
    query: null
    body: null
    answer: ReleaseView
  }
  'POST /content/releases/{release}/approve': {
    path: { release: string }
    query: null
    body: ApproveRequest
    answer: ReleaseView
  }
  'POST /content/releases/{release}/check': {
    path: { release: string }
    query: null
    body: null
    answer: ReleaseView
  }
  'POST /content/releases/{release}/items': {
    path: { release: string }
    query: null
    body: ReleaseAddition
    answer: ReleaseView
  }
  'DELETE /content/releases/{release}/items/{schedule}': {
    path: { release: string; schedule: string }
    query: null
    body: null
    answer: ReleaseView
  }
  'GET /content/notices': {
    path: null
    query: null
    body: null
    answer: NoticeView
  }
  'PUT /content/notices': {
    path: null
    query: null
    body: NoticeSpec
    answer: NoticeView
  }
  'DELETE /content/notices': {
    path: null
    query: null
    body: null
    answer: NoticeView
  }
  'PUT /content/adapters/{adapter}': {
    path: { adapter: string }
    query: null
    body: AdapterSpec
    answer: AdapterView
  }
  'GET /content/adapters/{adapter}': {
    path: { adapter: string }
    query: null
    body: null
    answer: AdapterView
  }
  'DELETE /content/adapters/{adapter}': {
    path: { adapter: string }
    query: null
    body: null
    answer: null
  }
  'GET /content/adapters': {
    path: null
    query: null
    body: null
    answer: AdapterView[]
  }
  'GET /content/calendar': {
    path: null
    query: { start?: string; end?: string; timezone?: string | null; entity_type?: string | null; entity_id?: string | null; created_by?: string | null; adapter?: string | null; action?: "archive" | "publish" | "unpublish" | null; status?: "cancelled" | "done" | "failed" | "pending" | "processing" | "skipped" | null; limit?: number; cursor?: string | null }
    body: null
    answer: CalendarEntry[]
  }
  'GET /content/schedules/{schedule}/occurrences': {
    path: { schedule: string }
    query: { start?: string | null; end?: string | null; limit?: number; cursor?: string | null }
    body: null
    answer: CalendarEntry[]
  }
  'GET /content/executions': {
    path: null
    query: { entity_type?: string | null; entity_id?: string | null; created_by?: string | null; adapter?: string | null; status?: "failure" | "running" | "skipped" | "success" | null; start?: string | null; end?: string | null; limit?: number; cursor?: string | null }
    body: null
    answer: ExecutionView[]
  }
  'GET /content/schedules/{schedule}/executions': {
    path: { schedule: string }
    query: { status?: "failure" | "running" | "skipped" | "success" | null; limit?: number; cursor?: string | null }
    body: null
    answer: ExecutionView[]
  }
  'POST /content/feeds': {
    path: null
    query: null
    body: FeedSpec
    answer: NewFeed
  }
  'GET /content/feeds': {
    path: null
    query: { limit?: number; cursor?: string | null }
    body: null
    answer: FeedView[]
  }
  'POST /content/feeds/{feed}/revoke': {
    path: { feed: string }
    query: null
    body: null
    answer: FeedView
  }
  'GET /content/feeds/{token}/calendar.ics': {
    path: { token: string }
    query: null
    body: null
    answer: string
  }
  'POST /content/schedules/bulk': {
    path: null
    query: { chunk?: number; force?: boolean; ids?: boolean }
    body: string
    answer: ImportAnswer
  }
  'POST /content/schedules/actions': {
    path: null
    query: null
    body: ContentActionRequest
    answer: ItemTally
  }
  'POST /content/releases/actions': {
    path: null
    query: null
    body: ReleaseActionRequest
    answer: ItemTally
  }
  'POST /notifications/actions': {
    path: null
    query: null
    body: NotificationActionRequest
    answer: ItemTally
  }
  'POST /campaigns/actions': {
    path: null
    query: null
    body: CampaignActionRequest
    answer: ItemTally
  }
  'POST /templates/actions': {
    path: null
    query: null
    body: TemplateActionRequest
    answer: ItemTally
  }
  'POST /recipients/actions': {
    path: null
    query: null
    body: RecipientActionRequest
    answer: ItemTally
  }
  'POST /notifications': {
    path: null
    query: null
    body: NotificationSpec
    answer: NotificationView
  }
  'GET /notifications': {
    path: null
    query: { user_id?: string | null; status?: "bounced" | "cancelled" | "delivered" | "expired" | "failed" | "held" | "pending" | "processing" | "sent" | "suppressed" | "unconfirmed" | null; template_id?: string | null; campaign_id?: string | null; sort?: "-created_at" | "-user_id" | "created_at" | "user_id" | null; limit?: number; cursor?: string | null }
    body: null
    answer: NotificationView[]
  }
  'POST /notifications/bulk': {
    path: null
    query: { chunk?: number; ids?: boolean }
    body: string
    answer: NotificationsAnswer
  }
  'GET /notifications/settings': {
    path: null
    query: null
    body: null
    answer: NotificationSettings
  }
  'PUT /notifications/settings': {
    path: null
    query: null
    body: NotificationSettings
    answer: NotificationSettings
  }
  'GET /notifications/{notification}': {
    path: { notification: string }
    query: null
    body: null
    answer: NotificationView
  }
  'GET /notifications/{notification}/why': {
    path: { notification: string }
    query: null
    body: null
    answer: NotificationWhy
  }
  'POST /notifications/{notification}/cancel': {
    path: { notification: string }
    query: null
    body: null
    answer: NotificationView
  }
  'POST /notifications/{notification}/reschedule': {
    path: { notification: string }
    query: null
    body: NotificationMove
    answer: NotificationView
  }
  'POST /notifications/{notification}/resend': {
    path: { notification: string }
    query: null
    body: null
    answer: NotificationView
  }
  'POST /notifications/{notification}/confirm': {
    path: { notification: string }
    query: null
    body: null
    answer: NotificationView
  }
  'GET /recipients': {
    path: null
    query: { search?: string; sort?: "-user_id" | "user_id"; limit?: number; cursor?: string | null }
    body: null
    answer: RecipientView[]
  }
  'POST /recipients/bulk': {
    path: null
    query: { chunk?: number }
    body: string
    answer: RecipientsAnswer
  }
  'PUT /recipients/{user_id}': {
    path: { user_id: string }
    query: null
    body: RecipientSpec
    answer: RecipientView
  }
  'PATCH /recipients/{user_id}': {
    path: { user_id: string }
    query: null
    body: RecipientSpec
    answer: RecipientView
  }
  'GET /recipients/{user_id}': {
    path: { user_id: string }
    query: null
    body: null
    answer: RecipientView
  }
  'DELETE /recipients/{user_id}': {
    path: { user_id: string }
    query: null
    body: null
    answer: ErasureView
  }
  'GET /recipients/{user_id}/export': {
    path: { user_id: string }
    query: null
    body: null
    answer: RecipientExport
  }
  'GET /templates': {
    path: null
    query: { search?: string; sort?: "-template_id" | "template_id"; limit?: number; cursor?: string | null }
    body: null
    answer: TemplateView[]
  }
  'PUT /templates/{template_id}': {
    path: { template_id: string }
    query: null
    body: TemplateSpec
    answer: TemplateView
  }
  'GET /templates/{template_id}': {
    path: { template_id: string }
    query: { version?: number | null }
    body: null
    answer: TemplateView
  }
  'DELETE /templates/{template_id}': {
    path: { template_id: string }
    query: null
    body: null
    answer: null
  }
  'GET /templates/{template_id}/versions': {
    path: { template_id: string }
    query: { limit?: number; cursor?: string | null }
    body: null
    answer: TemplateVersionView[]
  }
  'POST /templates/{template_id}/preview': {
    path: { template_id: string }
    query: null
    body: PreviewRequest
    answer: RenderedView[]
  }
  'POST /templates/{template_id}/test': {
    path: { template_id: string }
    query: null
    body: TrialSpec
    answer: NotificationView
  }
  'GET /channels': {
    path: null
    query: null
    body: null
    answer: ChannelHealth[]
  }
  'GET /channels/outbox': {
    path: null
    query: { limit?: number }
    body: null
    answer: Record<string, unknown>[]
  }
  'PUT /notifications/providers/{provider}': {
    path: { provider: string }
    query: null
    body: ProviderSpec
    answer: ProviderView
  }
  'GET /notifications/providers/{provider}': {
    path: { provider: string }
    query: null
    body: null
    answer: ProviderView
  }
  'DELETE /notifications/providers/{provider}': {
    path: { provider: string }
    query: null
    body: null
    answer: null
  }
  'GET /notifications/providers': {
    path: null
    query: null
    body: null
    answer: ProviderView[]
  }
  'POST /notifications/providers/{provider}/test': {
    path: { provider: string }
    query: null
    body: ProviderTest
    answer: ProviderTrial
  }
  'POST /notifications/providers/{provider}/events': {
    path: { provider: string }
    query: { namespace?: string; key?: string | null }
    body: null
    answer: ReportTaken
  }
  'GET /notifications/unsubscribe/{token}': {
    path: { token: string }
    query: null
    body: null
    answer: string
  }
  'POST /notifications/unsubscribe/{token}': {
    path: { token: string }
    query: null
    body: null
    answer: string
  }
  'GET /suppressions': {
    path: null
    query: { channel?: string | null; limit?: number; cursor?: string | null }
    body: null
    answer: SuppressionView[]
  }
  'PUT /suppressions/{channel}/{address}': {
    path: { channel: string; address: string }
    query: null
    body: SuppressionSpec
    answer: SuppressionView
  }
  'DELETE /suppressions/{channel}/{address}': {
    path: { channel: string; address: string }
    query: null
    body: null
    answer: null
  }
  'POST /recipients/{user_id}/inbox-token': {
    path: { user_id: string }
    query: null
    body: InboxTokenSpec
    answer: InboxToken
  }
  'GET /inbox/{token}': {
    path: { token: string }
    query: { unread?: boolean; archived?: boolean; limit?: number; cursor?: string | null }
    body: null
    answer: InboxItem[]
  }
  'GET /inbox/{token}/unread': {
    path: { token: string }
    query: null
    body: null
    answer: Unread
  }
  'POST /inbox/{token}/mark': {
    path: { token: string }
    query: null
    body: MarkSpec
    answer: InboxItem[]
  }
  'GET /inbox/{token}/stream': {
    path: { token: string }
    query: null
    body: null
    answer: string
  }
  'POST /notifications/schedules': {
    path: null
    query: null
    body: RecurringSpec
    answer: RecurringView
  }
  'GET /notifications/schedules': {
    path: null
    query: { user_id?: string | null; limit?: number; cursor?: string | null }
    body: null
    answer: RecurringView[]
  }
  'GET /notifications/schedules/{notification_schedule}': {
    path: { notification_schedule: string }
    query: null
    body: null
    answer: RecurringView
  }
  'PATCH /notifications/schedules/{notification_schedule}': {
    path: { notification_schedule: string }
    query: null
    body: RecurringChanges
    answer: RecurringView
  }
  'DELETE /notifications/schedules/{notification_schedule}': {
    path: { notification_schedule: string }
    query: null
    body: null
    answer: null
  }
  'POST /notifications/schedules/{notification_schedule}/pause': {
    path: { notification_schedule: string }
    query: null
    body: null
    answer: RecurringView
  }
  'POST /notifications/schedules/{notification_schedule}/resume': {
    path: { notification_schedule: string }
    query: null
    body: null
    answer: RecurringView
  }
  'PUT /digests/{digest}': {
    path: { digest: string }
    query: null
    body: DigestSpec
    answer: DigestView
  }
  'GET /digests/{digest}': {
    path: { digest: string }
    query: null
    body: null
    answer: DigestView
  }
  'DELETE /digests/{digest}': {
    path: { digest: string }
    query: null
    body: null
    answer: null
  }
  'GET /digests': {
    path: null
    query: { limit?: number; cursor?: string | null }
    body: null
    answer: DigestView[]
  }
  'POST /digests/{digest}/events': {
    path: { digest: string }
    query: null
    body: DigestEventSpec
    answer: DigestEventView
  }
  'PUT /sequences/{sequence}': {
    path: { sequence: string }
    query: null
    body: SequenceSpec
    answer: SequenceView
  }
  'GET /sequences/{sequence}': {
    path: { sequence: string }
    query: null
    body: null
    answer: SequenceView
  }
  'DELETE /sequences/{sequence}': {
    path: { sequence: string }
    query: null
    body: null
    answer: null
  }
  'GET /sequences': {
    path: null
    query: { limit?: number; cursor?: string | null }
    body: null
    answer: SequenceView[]
  }
  'POST /sequences/{sequence}/members': {
    path: { sequence: string }
    query: null
    body: MemberSpec
    answer: MemberView
  }
  'GET /sequences/{sequence}/members/{user_id}': {
    path: { sequence: string; user_id: string }
    query: null
    body: null
    answer: MemberView
  }
  'DELETE /sequences/{sequence}/members/{user_id}': {
    path: { sequence: string; user_id: string }
    query: null
    body: null
    answer: MemberView
  }
  'POST /notifications/events': {
    path: null
    query: null
    body: RecipientEventSpec
    answer: StoppedSequences
  }
  'POST /campaigns': {
    path: null
    query: null
    body: CampaignSpec
    answer: CampaignView
  }
  'GET /campaigns': {
    path: null
    query: { status?: CampaignStatus | null; search?: string | null; sort?: "-created_at" | "-name" | "-send_at" | "created_at" | "name" | "send_at"; limit?: number; cursor?: string | null }
    body: null
    answer: CampaignView[]
  }
  'GET /campaigns/{campaign}': {
    path: { campaign: string }
    query: null
    body: null
    answer: CampaignView
  }
  'GET /campaigns/{campaign}/progress': {
    path: { campaign: string }
    query: null
    body: null
    answer: CampaignProgress
  }
  'POST /campaigns/{campaign}/check': {
    path: { campaign: string }
    query: null
    body: null
    answer: CampaignCheck
  }
  'POST /campaigns/preview': {
    path: null
    query: null
    body: CampaignSpec
    answer: CampaignCheck
  }
  'POST /campaigns/{campaign}/start': {
    path: { campaign: string }
    query: null
    body: StartRequest
    answer: CampaignView
  }
  'POST /campaigns/{campaign}/pause': {
    path: { campaign: string }
    query: null
    body: CampaignReason
    answer: CampaignView
  }
  'POST /campaigns/{campaign}/resume': {
    path: { campaign: string }
    query: null
    body: null
    answer: CampaignView
  }
  'POST /campaigns/{campaign}/cancel': {
    path: { campaign: string }
    query: null
    body: CampaignReason
    answer: CampaignView
  }
  'POST /campaigns/{campaign}/resend': {
    path: { campaign: string }
    query: null
    body: null
    answer: CampaignView
  }
  'POST /campaigns/{campaign}/confirm': {
    path: { campaign: string }
    query: null
    body: null
    answer: CampaignView
  }
  'PUT /segments/{segment}': {
    path: { segment: string }
    query: null
    body: SegmentSpec
    answer: SegmentView
  }
  'GET /segments/{segment}': {
    path: { segment: string }
    query: null
    body: null
    answer: SegmentView
  }
  'DELETE /segments/{segment}': {
    path: { segment: string }
    query: null
    body: null
    answer: null
  }
  'GET /segments': {
    path: null
    query: { limit?: number; cursor?: string | null }
    body: null
    answer: SegmentView[]
  }
  'PUT /audiences/{audience}': {
    path: { audience: string }
    query: null
    body: string
    answer: AudienceView
  }
  'GET /audiences/{audience}': {
    path: { audience: string }
    query: null
    body: null
    answer: AudienceView
  }
  'DELETE /audiences/{audience}': {
    path: { audience: string }
    query: null
    body: null
    answer: null
  }
  'GET /audiences': {
    path: null
    query: { limit?: number; cursor?: string | null }
    body: null
    answer: AudienceView[]
  }
  'GET /audit': {
    path: null
    query: { actor?: string | null; action?: string | null; object?: string | null; job?: string | null; request_id?: string | null; since?: string | null; until?: string | null; every?: boolean; sort?: "-at" | "at"; limit?: number; cursor?: string | null }
    body: null
    answer: AuditView[]
  }
  'GET /audit/export': {
    path: null
    query: { actor?: string | null; action?: string | null; object?: string | null; job?: string | null; request_id?: string | null; since?: string | null; until?: string | null; every?: boolean; format?: "csv" | "json" | "jsonl" }
    body: null
    answer: string
  }
  'GET /jobs/{job}/changes': {
    path: { job: string }
    query: { limit?: number; cursor?: string | null }
    body: null
    answer: JobChange[]
  }
  'GET /overview': {
    path: null
    query: null
    body: null
    answer: Overview
  }
  'GET /upcoming': {
    path: null
    query: { minutes?: number }
    body: null
    answer: Upcoming
  }
  'GET /jobs/{job}/stats': {
    path: { job: string }
    query: { hours?: number }
    body: null
    answer: JobFigures
  }
  'GET /backlog': {
    path: null
    query: null
    body: null
    answer: Backlog[]
  }
  'GET /calendar': {
    path: null
    query: { start?: string; end?: string; timezone?: string | null; kinds?: string; label?: string | null }
    body: null
    answer: Agenda
  }
  'POST /calendar/feeds': {
    path: null
    query: null
    body: CalendarFeedSpec
    answer: NewCalendarFeed
  }
  'GET /calendar/feeds': {
    path: null
    query: { limit?: number; cursor?: string | null }
    body: null
    answer: CalendarFeedView[]
  }
  'POST /calendar/feeds/{calendar_feed}/revoke': {
    path: { calendar_feed: string }
    query: null
    body: null
    answer: CalendarFeedView
  }
  'GET /calendar/feeds/{token}/calendar.ics': {
    path: { token: string }
    query: null
    body: null
    answer: string
  }
  'GET /export/jobs': {
    path: null
    query: { status?: "active" | "completed" | "deleted" | "paused" | null; label?: string | null; name?: string | null; target?: string | null; app?: string | null; problem?: boolean; search?: string | null; format?: "csv" | "json" | "jsonl" }
    body: null
    answer: string
  }
  'GET /export/runs': {
    path: null
    query: { job?: string | null; status?: string | null; trigger?: string | null; include?: "skipped" | null; queue?: string | null; since?: string | null; until?: string | null; late?: boolean; error?: string | null; worker?: string | null; format?: "csv" | "json" | "jsonl" }
    body: null
    answer: string
  }
  'GET /export/dead': {
    path: null
    query: { job?: string | null; error_group?: string | null; reason?: "exhausted" | "permanent" | "poison" | null; format?: "csv" | "json" | "jsonl" }
    body: null
    answer: string
  }
  'GET /search': {
    path: null
    query: { q?: string; limit?: number }
    body: null
    answer: Found[]
  }
  'POST /explain': {
    path: null
    query: null
    body: ExplainRequest
    answer: Explained
  }
  'GET /zones': {
    path: null
    query: { search?: string }
    body: null
    answer: ZoneFound[]
  }
  'GET /events': {
    path: null
    query: { job?: string | null; run?: string | null; follow?: string | null; seconds?: number | null }
    body: null
    answer: string
  }
  'GET /cluster': {
    path: null
    query: { jobs?: boolean }
    body: null
    answer: Cluster
  }
  'GET /cluster/doctor': {
    path: null
    query: null
    body: null
    answer: Examination
  }
  'POST /nodes/{node}/drain': {
    path: { node: string }
    query: null
    body: DrainRequest
    answer: Drained
  }
}
