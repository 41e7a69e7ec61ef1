"""The table of all commands. Each is loaded when it is called: see `sexton.cli.load`.

A row has the name of a command, what carries it out, and its summary, with two spaces between them; a summary
may stand on a line of its own. A command is carried out by

    engine.up:up                      a function
    jobs.GET_JOB                      a route; the answer is shown field by field
    jobs.GET_QUEUE jobs.queues:show   a route; the function shows the answer

The heading of a group names the package of its commands. In its rows a path that begins with a dot, and a
route without a package, belong to that package.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Command(NamedTuple):
    path: str
    summary: str


class Group(NamedTuple):
    summary: str
    commands: dict[str, Command]


ALONE = """
  up       engine.up:up                          Start Sexton on this machine.
  demo     demo.command:demo                     Start Sexton with example data, to look around.
  stop     engine.stop:stop                      Stop the Sexton that this user started with sexton up.
  status   engine.status:status                  Show the state: nodes, shards, waiting runs, dead letters.
  cluster  engine.cluster:cluster                Show the cluster: nodes, who leads which shards, the elector.
  drain    engine.cluster:drain                  Drain a node: it hands over its shards and finishes its runs.
  login    security.people:login                 Print a link that signs a browser in, once.
  whoami   security.GET_SESSION security.people:show_caller
           Say who you are to the server, and what you may do.
  why      runs.why:why                          Say what happened to each occurrence of a job, and why.
  import   jobs.bulk:import_jobs                 Make many jobs from a file with one JSON object per line.
  next     schedules.schedules:next_occurrences  Show when a schedule fires next, in words and as a table.
  diff     schedules.schedules:diff              Show where two schedules differ in a range of time.
  migrate  engine.migrate:migrate                Bring the database's tables up to date.
  reshard  engine.reshard:reshard                Change the number of shards.
  doctor   engine.doctor:doctor                  Examine the database and the settings, and say what to fix.
  node     engine.node:node                      Run one node in the given roles until it is told to stop.
"""

GROUPED = """
jobs (jobs)  Make, show and change jobs.
  add         .jobs:add         Make a job.
  list        .jobs:list_       List jobs.
  show        GET_JOB           Show a job.
  next        .jobs:next_       Show when a job fires next.
  edit        .jobs:edit        Change some fields of a job; the others stay.
  pause       .jobs:pause       Pause jobs: nothing fires until they are resumed.
  resume      .jobs:resume      Resume paused jobs.
  label       .jobs:label       Set labels of jobs, or remove some.
  reschedule  .jobs:reschedule  Move a job's next run to another time.
  skip        .jobs:skip        Skip the next occurrence of a job.
  run         .jobs:run         Run jobs now, in addition to their schedules.
  backfill    .jobs:backfill    Run the occurrences of a range in the past.
  delete      .jobs:delete      Delete jobs. Their history stays.
  restore     .jobs:restore     Restore jobs that were deleted.

runs (runs)  Show, wait for, cancel and repeat runs.
  list    .runs:list_   List runs: live ones first, then the latest.
  show    .runs:show    Show a run with its attempts, log, progress and result.
  wait    .runs:wait    Wait until a run ends. Exit code 0 for success, else 1.
  cancel  .runs:cancel  Cancel runs; workers are asked to stop those that run.
  again   .runs:again   Run ended runs again, with the same payloads.

dead (runs)  Show, repeat and discard dead letters.
  list     .dead:list_                 List dead letters, the latest first.
  show     GET_DEAD .dead:show_letter  Show a dead letter with its payload and attempts.
  target   .dead:target                Show or set where dead letters are sent as well.
  redrive  .dead:redrive               Run dead letters again.
  discard  .dead:discard               Discard dead letters. The history keeps that they died.

queues (jobs)  Show, limit and pause queues.
  list    LIST_QUEUES .queues:show_all  List queues with their limits and what waits in them.
  show    GET_QUEUE .queues:show        Show a queue: its limits, whether it is paused, what waits.
  set     .queues:set_                  Limit a queue: runs at a time, runs per key, starts per second.
  pause   PAUSE_QUEUE .queues:show      Pause a queue: its runs wait until it is resumed.
  resume  RESUME_QUEUE .queues:show     Resume a paused queue.

content (content)  Publish, unpublish and archive entities at a local time.
  schedule        .schedules:schedule                    Plan an action on an entity, once or by a rule.
  window          .schedules:window  Publish an entity at one time, unpublish it at another.
  release         .releases:release                      Plan actions that go out together.
  releases        LIST_RELEASES .releases:show_all       List releases, in the order of their time.
  check           CHECK_RELEASE .schedules:show_release  Check a release: what would fail if it went out now?
  add-items       .releases:add_items                    Add actions at the end of a release.
  remove-item     REMOVE_RELEASE_ITEM .schedules:show_release  Remove an action from a release.
  list            .schedules:list_                       List planned actions in the order of their time.
  show            .schedules:show                        Show a planned action and its executions.
  calendar        .calendar:calendar  Show a month or a week: what is planned, and what happened.
  reschedule      .schedules:reschedule                  Move an action to another time.
  cancel          .schedules:cancel                      Cancel planned actions.
  restore         .schedules:restore  Restore a cancelled action or release before its time.
  move            .schedules:move                        Move planned actions by some days or minutes.
  edit-releases   .releases:edit_releases                Cancel, restore, approve or move many releases.
  skip            SKIP_CONTENT .schedules:show_schedule  Skip the next time of a series.
  run             .schedules:run                         Carry out an action now.
  approve         .schedules:approve                     Approve actions that need approval.
  occurrences     SCHEDULE_OCCURRENCES .schedules:show_times
                  List the times of an action, with those before and after each.
  executions      .schedules:executions                  List executions and their results.
  entities        .schedules:entities                    List entities, show one, or make its next version.
  import          .bulk:import_content                   Plan many actions from JSON lines or CSV.
  feeds           LIST_FEEDS .schedules:show_feeds       List calendar feeds, without their addresses.
  add-feed        .schedules:add_feed  Make a calendar feed: an address for your own calendar.
  revoke-feed     REVOKE_FEED feeds:show_revoked         Revoke a calendar feed: its address stops working.
  adapters        .settings:adapters                     List the adapters that were configured, or show one.
  set-adapter     .settings:set_adapter                  Configure an adapter, or change its configuration.
  remove-adapter  .settings:remove_adapter               Remove an adapter: actions planned with it fail.
  notices         GET_NOTICES .settings:show_notices     Show where notices about content are sent.
  set-notices     .settings:set_notices  Send signed webhooks with the results of actions on content.
  remove-notices  REMOVE_NOTICES .settings:show_notices  Stop sending notices.

notify (notifications)  Send messages at the right local time, and see why they were sent then.
  send             .notify:send                                  Schedule a message.
  list             .notify:list_                                 List messages, the latest first.
  show             GET_NOTIFICATION .notify:show_message         Show a message.
  why              WHY_NOTIFICATION .notify:show_why  Say why a message was sent when it was, or was not.
  cancel           .notify:cancel                                Cancel messages that were not submitted.
  restore          .notify:restore                               Restore a cancelled message before its time.
  reschedule       .notify:reschedule                            Send a message at another time.
  resend           RESEND_NOTIFICATION .notify:show_message
                   Resend a message that is unconfirmed or has failed.
  confirm          CONFIRM_NOTIFICATION .notify:show_message     Count an unconfirmed message as sent.
  schedules        .recurring:list_  List recurring notifications, with their next times.
  show-schedule    GET_NOTIFICATION_SCHEDULE .recurring:show     Show a recurring notification.
  add-schedule     .recurring:add                                Notify repeatedly, at local times, by a rule.
  change-schedule  .recurring:change                             Change a recurring notification.
  pause-schedule   PAUSE_NOTIFICATION_SCHEDULE .recurring:show   Pause a recurring notification.
  resume-schedule  RESUME_NOTIFICATION_SCHEDULE .recurring:show
                   Resume a recurring notification, with its next time.
  delete-schedule  DELETE_NOTIFICATION_SCHEDULE  Delete a recurring notification; its messages stay.
  settings         .notify:settings                              Show or change the settings of all messages.

recipients (notifications)  Manage recipients: addresses, zones, quiet hours.
  set     .recipients:set_                      Make a recipient, or change some fields of one.
  list    LIST_RECIPIENTS .recipients:show_all  List recipients in the order of their ids.
  show    GET_RECIPIENT                         Show a recipient.
  import  .recipients:import_recipients         Make or change many recipients from JSON lines or CSV.
  export  .recipients:export                    Print everything about a recipient, as JSON.
  suppress    .recipients:suppress              Send nothing to recipients any more, on any channel.
  unsuppress  .recipients:unsuppress            Send to suppressed recipients again.
  erase   .recipients:erase                     Erase all data of a person. The audit records it.

templates (notifications)  Write the texts of messages.
  put       .templates:put                                   Make the next version of a template.
  list      LIST_TEMPLATES .templates:show_all               List templates with their latest versions.
  show      GET_TEMPLATE .templates:show                     Show a template.
  versions  LIST_TEMPLATE_VERSIONS .templates:show_versions
            List the versions of a template, the latest first.
  preview   .templates:preview                               Show a template as a recipient would get it.
  test      .templates:try_                                  Send a test message at once.
  delete    .templates:delete  Delete templates. Messages that were made with them still go out.
  restore   .templates:restore                               Restore a template that was deleted.

providers (notifications)  Manage who sends notifications, and test it.
  list    LIST_CHANNELS .providers:show_all  List providers and their health.
  set     .providers:set_                    Configure a provider, or change it.
  show    GET_PROVIDER                       Show a provider; secrets by their names.
  remove  .providers:remove                  Remove a provider.
  test    .providers:try_out                 Reach a provider, or send a test message with it.

campaigns (notifications)  Send a template to many recipients, at their local time.
  create   .campaigns:create                     Make a campaign.
  list     LIST_CAMPAIGNS .campaigns:show_all    List campaigns, the latest first.
  check    CHECK_CAMPAIGN .campaigns:show_check  Check a campaign: how many, when, who cannot be reached.
  start    .campaigns:start                      Start campaigns: at their time, or at once if they have none.
  pause    .campaigns:pause                      Pause campaigns: no further batch begins.
  resume   .campaigns:resume                     Resume campaigns that are paused, late, or at their canary.
  cancel   .campaigns:cancel                     Cancel campaigns: nothing more goes out.
  resend   RESEND_CAMPAIGN .campaigns:show       Resend unconfirmed messages: they may arrive twice.
  confirm  CONFIRM_CAMPAIGN .campaigns:show      Count unconfirmed messages as sent.
  status   .campaigns:status                     Show the state of a campaign; with --watch, as it changes.

segments (notifications)  Save filters on recipients, for campaigns.
  put     .audiences:put_segment                  Save a filter on recipients under a name.
  list    LIST_SEGMENTS .audiences:show_segments  List segments by name.
  show    GET_SEGMENT .audiences:show_segment     Show a segment, and how many recipients match it.
  delete  DELETE_SEGMENT                          Delete a segment. Campaigns with written messages keep it.

audiences (notifications)  Upload lists of recipients, for campaigns.
  upload  .audiences:upload                         Upload a list of recipients; it replaces the previous one.
  list    LIST_AUDIENCES .audiences:show_audiences  List uploaded lists by name.
  show    GET_AUDIENCE .audiences:show_audience     Show how many recipients an uploaded list names.
  delete  DELETE_AUDIENCE  Delete an uploaded list. Campaigns with written messages keep it.

digests (notifications)  Collect events of a recipient, and send them as one message.
  put     .digests:put                    Make a digest, or change it.
  list    LIST_DIGESTS .digests:show_all  List digests by name.
  show    GET_DIGEST .digests:show        Show a digest.
  add     .digests:add                    Add an event to the next digest of a recipient.
  delete  DELETE_DIGEST                   Delete a digest. Collected events are sent at their time.

sequences (notifications)  Send messages with waits between them, until an event comes.
  put     .sequences:put                      Make a sequence, or change it.
  list    LIST_SEQUENCES .sequences:show_all  List sequences by name.
  show    GET_SEQUENCE .sequences:show        Show a sequence with its steps.
  enter   .sequences:enter                    Enter a recipient into a sequence: each step becomes a message.
  member  GET_SEQUENCE_MEMBER .sequences:show_member  Show a recipient in a sequence, with the messages.
  leave   LEAVE_SEQUENCE .sequences:show_member
          Stop a sequence for a recipient: messages not submitted are cancelled.
  event   .sequences:event                    Report what a recipient did: sequences that stop on it end.
  delete  DELETE_SEQUENCE  Delete a sequence. Recipients who entered it keep their messages.

keys (security)  Make, list, rotate and revoke API keys.
  create  .access:create_key               Make an API key.
  list    LIST_KEYS .access:show_keys      List API keys, without their texts.
  rotate  ROTATE_KEY .access:show_new_key  Make a new key like this one; both are valid for a while.
  revoke  .access:revoke_key               Revoke an API key: it is refused within two seconds.

namespaces (security)  Make and show namespaces, and set their quotas.
  create  .access:create_namespace                 Make a namespace.
  list    LIST_NAMESPACES .access:show_namespaces  List the namespaces that you may see.
  show    GET_NAMESPACE .access:show_namespace     Show a namespace: its quotas, and what it uses.
  set     .access:set_namespace                    Set quotas of a namespace.

sessions (security)  List the browsers that are signed in, and sign them out.
  list     LIST_SESSIONS .people:show_sessions  List browsers that are signed in.
  end      .people:end                          End a session: its browser is signed out within two seconds.
  end-all  .people:end_all                      End all your sessions, or those of one person.

audit (security)  Show, export and verify the audit.
  list    .audit:list_   List changes, the latest first.
  export  .audit:export  Write all changes to the standard output.
  verify  .audit:verify  Check that the audit is complete and was not changed.

bench (bench)  Measure how fast Sexton is on this machine.
  hot-second  .command:hot_second     Run many jobs that are due at the same instant.
  steady      .command:steady         Fire at a constant rate and measure how late runs start.
  size        .command:size           Measure what very many jobs cost.
  campaign    .command:campaign       Send a campaign to very many recipients.
  content     .command:content        Plan very many actions on content, and carry many out at once.
  console     .command:console_pages  Measure the requests of the console's pages, over very many jobs.

calendar (runs)  Subscribe to what is planned with your own calendar.
  feeds        console.LIST_CALENDAR_FEEDS .calendar:show_feeds
               List feeds of the calendar, without their addresses.
  add-feed     .calendar:add_feed  Make a feed of what is planned: an address for your own calendar.
  revoke-feed  console.REVOKE_CALENDAR_FEED feeds:show_revoked
               Revoke a feed of the calendar: its address stops working.

targets (jobs)  Test targets.
  test  .targets:send_test  Send a test: carry out a target once, and show the result.

secret (security)  Secrets that targets name, and the one that webhooks are signed with.
  set     .secret:set_    Store a secret, read from the standard input.
  list    .secret:list_   List the names of secrets. No value is shown.
  delete  .secret:delete  Delete a secret.
  key     .secret:key     Make a key for SEXTON_SECRET_KEY.
  rekey   .secret:rekey   Encrypt every secret with a new key.
  show    .secret:show    Show the secret that webhooks are signed with.
  rotate  .secret:rotate  Make a new secret; the old one stays valid for a while.
"""


def _commands(text: str, package: str = "") -> dict[str, Command]:
    commands = {}
    for row in re.sub(r"\n {3,}", "  ", text).strip().splitlines():
        name, path, summary = re.split(r" {2,}", row.strip())
        words = (_absolute(word, package) for word in path.split())
        commands[name] = Command(" ".join(words), summary)
    return commands


def _absolute(word: str, package: str) -> str:
    if word.startswith("."):
        return package + word
    return f"{package}.{word}" if word.isupper() else word


def _groups(text: str) -> dict[str, Group]:
    groups = {}
    for part in text.strip().split("\n\n"):
        heading, _, rows = part.partition("\n")
        name, package, summary = re.split(r" \(|\)  ", heading)
        groups[name] = Group(summary, _commands(rows, package))
    return groups


COMMANDS = _commands(ALONE)
GROUPS = _groups(GROUPED)
