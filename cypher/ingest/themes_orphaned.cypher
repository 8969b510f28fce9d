// purpose: themes that no document has any more
// params: corpus
// since: 5.26
MATCH (t:Theme {corpus: $corpus})
WHERE NOT EXISTS { (t)<-[:HAS_THEME]-(:Document) }
DETACH DELETE t
