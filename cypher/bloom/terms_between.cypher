// purpose: the rarest terms that two documents both name
// params: title, other
// since: 5.26
MATCH (d:Document {title: $title})<-[:FROM_DOCUMENT]-(:Chunk)-[:NAMES]->(t:Term)
WHERE EXISTS {
  (t)<-[:NAMES]-(:Chunk)-[:FROM_DOCUMENT]->(:Document {title: $other})
}
WITH DISTINCT d, t
ORDER BY t.chunks, t.id
LIMIT 25
CALL (d, t) {
  MATCH between = (d)<-[:FROM_DOCUMENT]-(:Chunk)
    -[:NAMES]->(t)<-[:NAMES]-
    (:Chunk)-[:FROM_DOCUMENT]->(:Document {title: $other})
  RETURN between
  LIMIT 4
}
RETURN between
