-- Write the next slice of a campaign's audience: members of a list, in their order. Members who are not recipients are only counted.
with
-- include: members
-- include: listed
-- include: picked
-- include: expand
    (select count(*) from slice where slice.number is null) as unknown
