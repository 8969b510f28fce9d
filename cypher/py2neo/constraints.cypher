// purpose: uniqueness constraints on properties of a label
// params: label
// since: 5.26
SHOW CONSTRAINTS YIELD name, type, entityType, labelsOrTypes, properties
WHERE type IN ['UNIQUENESS', 'NODE_PROPERTY_UNIQUENESS'] AND entityType = 'NODE'
  AND labelsOrTypes = [$label]
RETURN name, properties
ORDER BY name
