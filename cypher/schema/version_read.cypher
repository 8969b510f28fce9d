// purpose: the schema version of the database
// params: 
// since: 5.26
MATCH (v:SchemaVersion {id: 'knowtrail'})
RETURN v.version AS version
