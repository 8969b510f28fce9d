// @title: Documents that are most alike by their themes
// purpose: pairs of documents with near theme vectors
// params: corpus, title, limit
// since: 5.26
MATCH (d:Document)-[r:THEME_SIMILAR_TO]->(other:Document)
WHERE ($corpus IS NULL OR d.corpus = $corpus)
  AND ($title IS NULL OR d.title = $title)
RETURN
  d.corpus AS corpus,
  d.title AS title,
  other.title AS similar,
  round(r.score, 3) AS score
ORDER BY r.score DESC, title, similar, d.id, other.id
LIMIT coalesce($limit, 25)
