// purpose: the chunks of a document that begin in some of its sentences, with the links and names in them
// params: document, first, limit
// since: 5.26
MATCH (c:Chunk)-[:FROM_DOCUMENT]->(:Document {id: $document})
WHERE c.firstSentence >= $first AND c.firstSentence < $first + $limit
RETURN
  c.id AS chunk,
  c.index AS index,
  c.firstSentence AS first,
  c.lastSentence AS last,
  COLLECT {
    MATCH (c)-[m:MENTIONS]->(o:Document)
    RETURN [m.anchor, o.title]
    ORDER BY m.anchor, o.title
  } AS mentions,
  COLLECT {
    MATCH (c)-[:NAMES]->(t:Term)
    RETURN t.label
    ORDER BY t.chunks, t.label
    LIMIT 30
  } AS names
ORDER BY index
LIMIT $limit
