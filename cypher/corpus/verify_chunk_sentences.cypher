// purpose: chunks that do not hold the sentences of their window
// params: corpus, window
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(n:Chunk)
WHERE COUNT { (n)-[:HAS_SENTENCE]->(:Sentence) } <> n.lastSentence - n.firstSentence + 1
   OR n.lastSentence - n.firstSentence + 1 > $window
RETURN count(n) AS count, collect(n.id)[..5] AS examples
