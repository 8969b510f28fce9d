// purpose: categories that no document is in any more
// params: corpus
// since: 5.26
MATCH (c:Category {corpus: $corpus})
WHERE NOT EXISTS { (c)<-[:IN_CATEGORY]-(:Document) }
DETACH DELETE c
