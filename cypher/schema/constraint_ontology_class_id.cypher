// purpose: an OntologyClass is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT ontology_class_id IF NOT EXISTS
FOR (n:OntologyClass)
REQUIRE n.id IS UNIQUE
