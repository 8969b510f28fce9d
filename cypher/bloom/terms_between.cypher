// purpose: the rarest terms that two documents both name
// params: title, other
// since: 5.26
MATCH between = (:Document {title: $title})<-[:FROM_DOCUMENT]-(:Chunk)
  -[:NAMES]->(t:Term)<-[:NAMES]-
  (:Chunk)-[:FROM_DOCUMENT]->(:Document {title: $other})
WITH between, t
ORDER BY t.chunks
LIMIT 25
RETURN between
