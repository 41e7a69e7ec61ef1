-- Charge the meter of a day with messages of campaigns; a negative number gives them back.
update sexton.campaign_meters
set taken = greatest(0, taken + :count::bigint)
where namespace = :namespace and day = :day
