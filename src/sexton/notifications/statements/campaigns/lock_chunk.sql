-- A chunk, for the run that has it. A transaction that changes one of its messages holds this lock, so it needs no lock of the message.
select chunk.number
from sexton.campaign_chunks as chunk
where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.number = :number
    and chunk.state = 'open' and chunk.run_id = :run_id
for no key update
