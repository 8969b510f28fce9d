// @title: Documents and how many chunks they have
// purpose: documents of a corpus, the longest first
// params: corpus, limit
// since: 5.26
CALL () {
  UNWIND CASE WHEN $corpus IS NULL THEN [] ELSE [$corpus] END AS name
  MATCH (d:Document {corpus: name})
  RETURN d
  UNION ALL
  UNWIND CASE WHEN $corpus IS NULL THEN [1] ELSE [] END AS every
  MATCH (d:Document)
  RETURN d
}
WITH d
WHERE d.corpus = $corpus OR $corpus IS NULL AND NOT d.corpus =~ 'eval-.+-[0-9a-f]{8}'
RETURN
  d.corpus AS corpus,
  d.title AS title,
  COUNT { (d)<-[:FROM_DOCUMENT]-(:Chunk) } AS chunks,
  d.id AS documentId
ORDER BY chunks DESC, corpus, title, documentId
LIMIT coalesce($limit, 50)
