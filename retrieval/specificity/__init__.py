"""Questions answered by SPARQL templates, with classes scored for the question."""
