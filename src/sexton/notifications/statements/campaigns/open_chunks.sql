-- Assign runs to chunks of a campaign, which is locked.
update sexton.campaign_chunks as chunk
set state = 'open', run_id = opened.run_id, wait_reason = null, changed_at = :now
from (select unnest(:numbers::integer[]) as number, unnest(:runs::bigint[]) as run_id) as opened
where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.number = opened.number
