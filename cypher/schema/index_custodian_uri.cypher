// purpose: nodes of RDF by their own IRI
// params:
// since: 5.26
CREATE INDEX custodian_uri IF NOT EXISTS
FOR (n:Custodian)
ON (n.uri)
