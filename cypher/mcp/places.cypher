// purpose: the document of an id or title, and the term of a name, of a corpus
// params: corpus, name, keys
// since: 5.26
CALL {
  MATCH (d:Document {id: $name, corpus: $corpus})
  RETURN d.id AS id, d.title AS title, 'document' AS kind, 0 AS place
  UNION ALL
  MATCH (d:Document {corpus: $corpus})
  WHERE d.titleKey IN $keys AND (d.titleKey <> '' OR d.title = $name)
  WITH d, d.title = $name OR d.titleKey = last($keys) AS whole
  ORDER BY d.title = $name DESC, whole DESC, d.id
  LIMIT 1
  RETURN
    d.id AS id, d.title AS title, 'document' AS kind,
    CASE WHEN whole THEN 1 ELSE 3 END AS place
  UNION ALL
  MATCH (t:Term {corpus: $corpus, name: toLower($name)})
  RETURN t.id AS id, t.label AS title, 'term' AS kind, 2 AS place
}
RETURN id, title, kind
ORDER BY place
