// purpose: chunks of a corpus as sources of extraction, all or those of documents named
// params: corpus, only
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(c:Chunk)
WHERE
  $only IS NULL OR
  d.id IN $only OR
  d.title IN $only OR
  c.id IN $only OR
  any(alias IN d.aliases WHERE alias IN $only)
RETURN
  c.id AS id,
  d.title AS title,
  d.contentHash AS contentHash,
  d.aliases + [c.id] AS aliases,
  d.id AS document
ORDER BY title, document, c.index
