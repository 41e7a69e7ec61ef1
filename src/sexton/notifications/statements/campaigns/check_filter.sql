-- Look at the next slice of a campaign's audience without writing it: recipients of the namespace that match a filter, in the order of their numbers.
with
-- include: met
-- include: picked
-- include: check
    0::bigint as unknown
from counted
