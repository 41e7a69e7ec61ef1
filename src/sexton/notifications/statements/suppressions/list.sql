select channel, address, reason, since
from sexton.suppressions
where namespace = :namespace and (:channel::text is null or channel = :channel)
    and (channel, address) > (:after_channel, :after_address)
order by channel, address
limit :limit
