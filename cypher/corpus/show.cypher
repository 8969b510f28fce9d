// purpose: what a corpus holds
// params: name
// since: 5.26
MATCH (k:Corpus {name: $name})
CALL (k) {
  MATCH (k)<-[:IN_CORPUS]-(d:Document)
  RETURN count(d) AS documents,
         sum(COUNT { (d)-[:THEME_SIMILAR_TO]->() }) AS themeSimilar,
         sum(COUNT { (d)-[:LINKS_TO]->() }) AS links
}
CALL (k) {
  MATCH (k)<-[:IN_CORPUS]-(:Document)<-[:FROM_DOCUMENT]-(c:Chunk)
  RETURN count(c) AS chunks,
         sum(COUNT { (c)-[:SIMILAR_TO {scope: 'intra'}]->() }) AS similarIntra,
         sum(COUNT { (c)-[:SIMILAR_TO {scope: 'inter'}]->() }) AS similarInter,
         sum(COUNT { (c)-[:MENTIONS]->() }) AS mentions,
         sum(COUNT { (c)-[:NAMES]->() }) AS names
}
RETURN k.name AS name,
       documents,
       chunks,
       COUNT { MATCH (:Sentence {corpus: $name}) } AS sentences,
       COUNT { MATCH (:Theme {corpus: $name}) } AS themes,
       COUNT { MATCH (:Term {corpus: $name}) } AS terms,
       COUNT { MATCH (:Category {corpus: $name}) } AS categories,
       COUNT { MATCH (:Redirect {corpus: $name}) } AS redirects,
       similarIntra,
       similarInter,
       themeSimilar,
       links,
       mentions,
       names,
       properties(k) AS settings
