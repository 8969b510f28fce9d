// purpose: documents with too many or too weak edges by themes
// params: corpus, themeTop, themeThreshold
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(n:Document)
WITH n, COLLECT { MATCH (n)-[r:THEME_SIMILAR_TO]->(b:Document)
                  RETURN [r.score, b.corpus = $corpus] } AS edges
WHERE size(edges) > $themeTop
   OR any(e IN edges WHERE e[0] < $themeThreshold OR NOT e[1])
RETURN count(n) AS count, collect(n.id)[..5] AS examples
