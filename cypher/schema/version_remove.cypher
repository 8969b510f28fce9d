// purpose: forget the schema version
// params:
// since: 5.26
MATCH (v:SchemaVersion)
DELETE v
