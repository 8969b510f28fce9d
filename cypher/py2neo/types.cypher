// purpose: types that relationships have
// params:
// since: 5.26
CALL db.relationshipTypes() YIELD relationshipType
RETURN relationshipType AS name
