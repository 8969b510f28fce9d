// purpose: the document that a redirect of a corpus leads to
// params: corpus, name, key
// since: 5.26
MATCH (d:Document {corpus: $corpus})
WHERE $name IN d.aliases OR $key IN d.aliases
RETURN d.id AS id, d.title AS title, 'document' AS kind
ORDER BY id
LIMIT 1
