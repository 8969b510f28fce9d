// purpose: documents of a corpus as sources of extraction, all or those named
// params: corpus, only
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
WHERE
  $only IS NULL OR
  d.id IN $only OR
  d.title IN $only OR
  any(alias IN d.aliases WHERE alias IN $only)
RETURN
  d.id AS id,
  d.title AS title,
  d.contentHash AS contentHash,
  d.aliases AS aliases,
  d.id AS document
ORDER BY title, id
