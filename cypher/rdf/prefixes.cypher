// purpose: prefixes of the RDF of others, as neosemantics keeps them
// params:
// since: 5.26
MATCH (p:_NsPrefDef)
RETURN properties(p) AS held
