// purpose: extractions of a model in a format that came from one of some answers
// params: model, variant, answers
// since: 5.26
MATCH (x:Extraction {model: $model, variant: $variant})
WHERE x.raw IN $answers
RETURN x.id AS id, x.raw AS answer
ORDER BY id
