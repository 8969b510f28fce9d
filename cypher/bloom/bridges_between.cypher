// purpose: the strongest similarities between chunks of two documents
// params: title, other
// since: 5.26
MATCH bridge = (:Document {title: $title})<-[:FROM_DOCUMENT]-(:Chunk)
  -[r:SIMILAR_TO]-
  (:Chunk)-[:FROM_DOCUMENT]->(:Document {title: $other})
WITH bridge, r
ORDER BY r.score DESC
LIMIT 25
RETURN bridge
