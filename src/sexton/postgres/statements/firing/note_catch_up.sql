-- Keep an account of a large catch-up.
insert into sexton.audit (actor, action, detail) values (:actor, 'caught_up', :detail::jsonb)
