// purpose: store how similar nodes were searched and the share of them that is found, where it was not exact
// params: name, properties
// since: 5.26
MATCH (k:Corpus {name: $name})
WHERE any(key IN keys($properties) WHERE
  coalesce(k[key], CASE WHEN key ENDS WITH 'Method' THEN 'exact' ELSE 1.0 END) <> $properties[key])
SET k += $properties
