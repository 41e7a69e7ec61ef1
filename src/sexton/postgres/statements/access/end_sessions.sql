-- End sessions: of a credential, of a name, or one of them. A parameter that is null does not apply.
update sexton.sessions set ended_at = coalesce(:now, clock_timestamp())
where ended_at is null
    and (:credential::text is null or credential = :credential)
    and (:name::text is null or name = :name)
    and (:session_id::bigint is null or id = :session_id)
returning id, name
