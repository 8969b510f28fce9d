// purpose: types that the database knows
// params:
// since: 5.26
CALL db.relationshipTypes() YIELD relationshipType
RETURN relationshipType AS name
