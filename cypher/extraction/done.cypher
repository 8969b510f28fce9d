// purpose: extractions that a corpus has by one variant and model
// params: corpus, variant, model
// since: 5.26
MATCH (x:Extraction {corpus: $corpus, variant: $variant, model: $model})
RETURN
  x.id AS id,
  x.promptHash AS promptHash,
  x.contentHash AS contentHash,
  x.status AS status
