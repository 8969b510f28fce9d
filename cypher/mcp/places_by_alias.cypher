// purpose: the document that a redirect of a corpus leads to
// params: corpus, name, keys
// since: 5.26
MATCH (d:Document {corpus: $corpus})
WHERE any(name IN [$name] + $keys WHERE name IN d.aliases)
RETURN d.id AS id, d.title AS title, 'document' AS kind
ORDER BY id
LIMIT 1
