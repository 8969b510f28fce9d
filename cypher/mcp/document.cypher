// purpose: sentences of a document from a place on
// params: document, first, limit
// since: 5.26
MATCH (d:Document {id: $document})<-[:FROM_DOCUMENT]-(c:Chunk)
WHERE c.lastSentence >= $first AND c.firstSentence < $first + $limit
MATCH (c)-[:HAS_SENTENCE]->(s:Sentence)
WHERE s.index >= $first AND s.index < $first + $limit
WITH DISTINCT s
RETURN
  s.id AS id,
  s.index AS index,
  s.text AS text,
  s.startChar AS start_char,
  s.endChar AS end_char
ORDER BY index
