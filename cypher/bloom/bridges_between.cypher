// purpose: the 25 strongest pairs of chunks of two documents
// params: title, other
// since: 5.26
MATCH (:Document {title: $title})<-[:FROM_DOCUMENT]-(a:Chunk)
  -[r:SIMILAR_TO]-
  (b:Chunk)-[:FROM_DOCUMENT]->(:Document {title: $other})
WITH a, b, max(r.score) AS score
ORDER BY score DESC, a.id, b.id
LIMIT 25
MATCH bridge = (:Document)<-[:FROM_DOCUMENT]-(a)
  -[:SIMILAR_TO]-(b)-[:FROM_DOCUMENT]->(:Document)
RETURN bridge
