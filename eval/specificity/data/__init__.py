"""Labelled questions on the bundled heritage institutions, in two halves and more.

`questions_test.jsonl` was written from the names of the templates alone, by someone who
had not seen the templates' examples and patterns, and is for reporting only;
`questions_dev.jsonl` is for tuning, and so is `questions_more.jsonl`, written later
from the templates' names, the ontology and the institutions. Each line has `id`,
`language`, `conversation` and `turn` (questions of one conversation follow each other),
`question`, `template`,
`slots` (codes: type letter, ISO 3166 country and subdivision), `relation` and
`answer`: a `list` of GHCIDs, a `count`, a `comparison`, a `breakdown` by type, `none`
(no template fits), `ask` (something is missing) or a `refusal` (nothing to do with
heritage).

`questions_fresh.jsonl`, for reporting only, and `questions_hard.jsonl`, for tuning, are
about `custodians_fresh.jsonl`; `benchmarks/heritage_questions.py` writes all three.
Most of them have no `template`. Their answers are also the `first` of several
institutions, an `amount`, `ambiguous` or `unanswered`.
"""
