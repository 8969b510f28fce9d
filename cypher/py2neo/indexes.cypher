// purpose: indexes on properties of a label that belong to no constraint
// params: label
// since: 5.26
SHOW INDEXES YIELD name, type, entityType, labelsOrTypes, properties, owningConstraint
WHERE type = 'RANGE' AND entityType = 'NODE' AND owningConstraint IS NULL
  AND labelsOrTypes = [$label]
RETURN name, properties
ORDER BY name
