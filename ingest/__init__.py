"""Text in: sources, sentences, windows, embedding, linking, corpora."""
