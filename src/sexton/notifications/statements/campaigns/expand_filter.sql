-- Write the next slice of a campaign's audience: recipients of the namespace that match a filter, in the order of their numbers.
with
-- include: met
-- include: picked
-- include: expand
    0::bigint as unknown
