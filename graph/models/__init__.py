"""Models of others: embedders and language models, one way to call each."""
