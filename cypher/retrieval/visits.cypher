// purpose: chunks with their sentences and vectors
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (c:Chunk {id: id})
USING INDEX SEEK c:Chunk(id)
MATCH (c)-[:FROM_DOCUMENT]->(d:Document)
WITH
  [
    c.id, c.text, c.index, c.firstSentence, c.lastSentence, c.startChar,
    c.endChar, d.id, d.title, d.url, coalesce(d.source, '')
  ] AS chunk,
  COLLECT {
    MATCH (c)-[:HAS_SENTENCE]->(s:Sentence)
    RETURN [s.id, s.text, s.index, s.startChar, s.endChar, s.embedding /* vector */]
    ORDER BY s.index
  } AS sentences,
  [] AS neighbours,
  c.embedding /* vector */ AS vector
RETURN collect([chunk, sentences, neighbours, vector]) AS visits
