// purpose: documents of an id, title or alias, or else the term of a name, of a corpus
// params: corpus, name
// since: 5.26
CALL {
  MATCH (d:Document {corpus: $corpus})
  WHERE d.id = $name OR d.title = $name OR $name IN d.aliases
  RETURN d.id AS id, d.title AS title, 'document' AS kind
  ORDER BY d.title = $name DESC, id
  LIMIT 1
  UNION ALL
  MATCH (t:Term {corpus: $corpus, name: toLower($name)})
  RETURN t.id AS id, t.label AS title, 'term' AS kind
}
RETURN id, title, kind
