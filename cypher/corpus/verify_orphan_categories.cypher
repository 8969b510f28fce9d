// purpose: categories without a document
// params: corpus
// since: 5.26
MATCH (n:Category {corpus: $corpus})
WHERE NOT EXISTS { (n)<-[:IN_CATEGORY]-(:Document) }
RETURN count(n) AS count, collect(n.id)[..5] AS examples
