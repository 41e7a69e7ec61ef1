select channel, address, reason, since
from sexton.suppressions
where namespace = :namespace and channel = :channel and address = :address
