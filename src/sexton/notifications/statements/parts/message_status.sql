-- The status that users see of a row of `messages`: a message that its chunk has marked is being submitted.
case
    when messages.status in ('pending', 'held') and exists (
        select from sexton.campaign_chunks as chunk
        where chunk.campaign_id = messages.campaign_id and chunk.marked_at is not null
            and messages.id > chunk.marked_after and messages.id <= chunk.marked_to and messages.due_at <= chunk.marked_at
    ) then 'processing'
    else messages.status
end
