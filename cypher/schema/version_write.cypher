// purpose: record the schema version
// params: version
// since: 5.26
MERGE (v:SchemaVersion {id: 'knowtrail'})
SET v.version = $version
