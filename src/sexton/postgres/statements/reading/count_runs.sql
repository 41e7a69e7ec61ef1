-- How many live runs there are in each state, counted up to :most.
select state, count(*) as runs from (select state from sexton.runs limit :most) counted group by state
