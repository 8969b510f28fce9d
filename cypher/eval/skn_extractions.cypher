// purpose: extractions of a model in a format that say one of some texts
// params: model, variant, texts
// since: 5.26
MATCH (x:Extraction {model: $model, variant: $variant})
WHERE x.text IN $texts
RETURN x.id AS id, x.text AS text
ORDER BY id
