"""Commands that bring text in and look after corpora."""
