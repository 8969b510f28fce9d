"""Research over the graph: plan, walk, note, follow gaps, draft, check, report."""
