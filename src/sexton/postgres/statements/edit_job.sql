-- The new definition, one revision on. $1 job, $2 name, $3 app, $4 kind, $5 schedule, $6 timezone, $7 anchor, $8 timing key,
-- $9 target, $10 payload, $11 options, $12 labels, $13 description, $14 owner, $15 declaration, $16 now
update sexton.jobs
set name = $2, app = $3, kind = $4, schedule = $5, timezone = $6, anchor = $7, timing_key = $8, target = $9, payload = $10,
    options = $11, labels = $12, description = $13, owner = $14, declaration = $15, updated_at = $16,
    revision = revision + 1
where id = $1
