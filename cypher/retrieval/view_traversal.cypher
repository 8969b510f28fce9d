// purpose: a recorded walk with its steps, each with its chunk where that still is
// params: id
// since: 5.26
MATCH (t:Traversal {id: $id})-[:FOR_QUERY]->(q:Query)
RETURN
  t.algorithm AS algorithm,
  t.corpus AS corpus,
  t.stopReason AS stopReason,
  t.milliseconds AS milliseconds,
  q.text AS question,
  q.embedding AS vector,
  COLLECT {
    MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)
    OPTIONAL MATCH (s)-[:VISITED]->(c:Chunk)-[:FROM_DOCUMENT]->(d:Document)
    WITH s, c, d
    ORDER BY s.index
    RETURN {
      index: s.index,
      hop: s.hop,
      score: s.score,
      reason: s.reason,
      chunkId: coalesce(c.id, s.chunkId),
      text: coalesce(c.text, s.text),
      chunk: c.index,
      firstSentence: c.firstSentence,
      lastSentence: c.lastSentence,
      startChar: c.startChar,
      endChar: c.endChar,
      documentId: coalesce(d.id, s.documentId),
      title: coalesce(d.title, s.title),
      sentences: COLLECT {
        MATCH (s)-[p:PICKED]->(n:Sentence)
        RETURN [n.id, n.text, n.index, n.startChar, n.endChar, p.score]
        ORDER BY p.rank
      },
      considered: COLLECT {
        MATCH (s)-[r:CONSIDERED]->(o:Chunk)
        RETURN [o.id, r.score]
        ORDER BY r.rank
      }
    }
  } AS steps
