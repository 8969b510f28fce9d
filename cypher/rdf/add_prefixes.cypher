// purpose: keep prefixes of the RDF of others, as neosemantics does
// params: prefixes
// since: 5.26
MERGE (p:_NsPrefDef)
SET p += $prefixes
