// purpose: chunks of a corpus with their texts and places, to be ranked outside
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(c:Chunk)
RETURN
  c.id AS id,
  d.id AS document,
  c.text AS text,
  c.firstSentence AS first,
  c.lastSentence AS last
ORDER BY id
