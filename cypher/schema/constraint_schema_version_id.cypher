// purpose: a SchemaVersion is found by its id
// params: 
// since: 5.26
CREATE CONSTRAINT schema_version_id IF NOT EXISTS
FOR (n:SchemaVersion)
REQUIRE n.id IS UNIQUE
