// purpose: what a document is connected with, the strongest of each kind first
// params: document, limit
// since: 5.26
MATCH (d:Document {id: $document})
CALL (d) {
  MATCH (d)-[:LINKS_TO]->(o:Document)
  WITH o ORDER BY o.title, o.id LIMIT $limit
  RETURN 'links to' AS kind, o.id AS id, o.title AS title, null AS score
  UNION ALL
  MATCH (d)<-[:LINKS_TO]-(o:Document)
  WITH o ORDER BY o.title, o.id LIMIT $limit
  RETURN 'linked from' AS kind, o.id AS id, o.title AS title, null AS score
  UNION ALL
  MATCH (d)<-[:MENTIONS]-(:Chunk)-[:FROM_DOCUMENT]->(o:Document)
  WITH o, count(*) AS chunks ORDER BY chunks DESC, o.title, o.id LIMIT $limit
  RETURN 'mentioned by' AS kind, o.id AS id, o.title AS title, chunks AS score
  UNION ALL
  MATCH (d)-[r:THEME_SIMILAR_TO]-(o:Document)
  WITH o, max(r.score) AS score ORDER BY score DESC, o.title, o.id LIMIT $limit
  RETURN 'similar themes' AS kind, o.id AS id, o.title AS title, score
  UNION ALL
  MATCH (d)<-[:FROM_DOCUMENT]-(:Chunk)-[r:SIMILAR_TO {scope: 'inter'}]->(:Chunk)-[:FROM_DOCUMENT]->(o:Document)
  WITH o, max(r.score) AS score ORDER BY score DESC, o.title, o.id LIMIT $limit
  RETURN 'similar passages' AS kind, o.id AS id, o.title AS title, score
  UNION ALL
  MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk)-[:NAMES]->(t:Term)
  WITH t, count(c) AS chunks ORDER BY t.chunks, chunks DESC, t.id LIMIT $limit
  RETURN 'names' AS kind, t.id AS id, t.label AS title, t.chunks AS score
}
RETURN kind, id, title, score
