-- Templates by their ids.
-- include: latest_templates
select * from found where template_id > :place order by template_id limit :limit
