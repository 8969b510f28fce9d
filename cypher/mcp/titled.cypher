// purpose: the documents of an exact title, at most two
// params: corpus, title, keys
// since: 5.26
MATCH (d:Document {corpus: $corpus})
WHERE d.titleKey IN $keys AND d.title = $title
RETURN d.id AS id, d.sourceId AS sourceId
ORDER BY id
LIMIT 2
