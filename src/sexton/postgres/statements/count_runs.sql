-- How many live runs there are in each state, counted up to $1.
select state, count(*) as runs from (select state from sexton.runs limit $1) counted group by state
