-- Templates by their ids, the last first.
-- include: latest_templates
select * from found where template_id < :place order by template_id desc limit :limit
