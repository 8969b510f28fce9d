// purpose: vectors of texts by an embedder that the server has loaded, else no rows
// params: model, texts
// since: 5.26
CALL knowtrail.embed($model, $texts) YIELD vector
RETURN vector
