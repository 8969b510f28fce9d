// purpose: store how similar nodes were searched and the share of them that is found, where it was not exact
// params: name, method, recall, properties
// since: 5.26
MATCH (k:Corpus {name: $name})
WHERE coalesce(k[$method], 'exact') <> $properties[$method]
   OR coalesce(k[$recall], 1.0) <> $properties[$recall]
SET k += $properties
