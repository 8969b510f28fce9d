// purpose: nodes of RDF by their own IRI
// params:
// since: 5.26
CREATE INDEX ontology_class_uri IF NOT EXISTS
FOR (n:OntologyClass)
ON (n.uri)
