// purpose: indexes with state and options
// params: 
// since: 5.26
SHOW INDEXES
YIELD name, type, state, populationPercent, labelsOrTypes, properties, options, owningConstraint
RETURN name, type, state, populationPercent, labelsOrTypes, properties, options, owningConstraint
ORDER BY name
