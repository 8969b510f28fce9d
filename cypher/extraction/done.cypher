// purpose: extractions that a corpus has by one variant and model
// params: corpus, variant, model
// since: 5.26
MATCH (x:Extraction {corpus: $corpus, variant: $variant, model: $model})
RETURN
  x.id AS id,
  x.promptHash AS promptHash,
  x.contentHash AS contentHash,
  CASE x.status WHEN 'failed' THEN 0 ELSE x.readCharacters END AS read,
  x.sourceCharacters AS characters,
  x.answerTokens AS answerTokens,
  any(r IN x.repairs WHERE r ENDS WITH '(cut)' OR r ENDS WITH '(no_end)') AS cut
