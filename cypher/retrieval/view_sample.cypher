// purpose: every so many-th chunk of some documents, with its vector
// params: documents, every, letters
// since: 5.26
UNWIND $documents AS id
MATCH (d:Document {id: id})
USING INDEX SEEK d:Document(id)
MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk)
WHERE c.index % $every = 0 AND c.embedding IS NOT NULL
WITH d, c
ORDER BY d.id, c.index
RETURN
  c.id AS id,
  d.id AS document,
  d.title AS title,
  c.index AS index,
  left(c.text, $letters) AS text,
  c.embedding AS vector
