select suppression.channel, suppression.address, suppression.reason
from unnest(:channels::text[], :addresses::text[]) as given (channel, address)
join sexton.suppressions as suppression
    on suppression.namespace = :namespace and suppression.channel = given.channel and suppression.address = given.address
