// purpose: chunks with their documents, without vectors
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (c:Chunk {id: id})
USING INDEX SEEK c:Chunk(id)
MATCH (c)-[:FROM_DOCUMENT]->(d:Document)
RETURN
  c.id AS id,
  c.text AS text,
  c.index AS index,
  c.firstSentence AS firstSentence,
  c.lastSentence AS lastSentence,
  c.startChar AS startChar,
  c.endChar AS endChar,
  d.id AS documentId,
  d.title AS title,
  d.url AS url,
  d.source AS source
