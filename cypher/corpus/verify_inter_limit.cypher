// purpose: chunks with too many or too weak edges to other documents
// params: corpus, interTopX, interThreshold
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(n:Chunk)
WITH n, d, COLLECT { MATCH (n)-[r:SIMILAR_TO {scope: 'inter'}]->(b:Chunk)
                     RETURN [r.score, r.rank, b.corpus = $corpus AND NOT EXISTS { (b)-[:FROM_DOCUMENT]->(d) }] } AS edges
WHERE size(edges) > $interTopX
   OR any(e IN edges WHERE e[0] < $interThreshold OR e[1] > size(edges) OR NOT e[2])
RETURN count(n) AS count, collect(n.id)[..5] AS examples
