-- Note how many members the list of a campaign has.
update sexton.audiences set size = :size where namespace = :namespace and id = :audience_id
