"""The page for people: every procedure with a form; no script, nothing fetched."""

from __future__ import annotations

from html import escape
from string import Template
from typing import TYPE_CHECKING

from retrieval.serve.signatures import parameters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retrieval.procedures import Field, Procedure

__all__ = ["page"]

_PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Knowtrail</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem;
  padding: 0 1rem; color: #1b1b1b; background: #fff; }
h2 { margin-top: 2.5rem; border-top: 1px solid #ccc; padding-top: 1rem; }
label { display: grid; grid-template-columns: 9rem 1fr; gap: .2rem 1rem;
  margin: .4rem 0; align-items: center; }
label small { grid-column: 2; color: #555; }
input { font: inherit; padding: .3rem .5rem; border: 1px solid #888;
  border-radius: 4px; }
button { font: inherit; padding: .3rem 1rem; margin-right: .5rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
td, th { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0; }
code { background: #f2f2f2; padding: 0 .2rem; }
</style>
<h1>Knowtrail</h1>
<p>Procedures over HTTP: <code>/procedures/NAME</code> answers with JSON,
<code>/procedures/NAME.csv</code> with CSV for <code>LOAD CSV</code>,
<code>/procedures/ask.ndjson</code> line by line. By GET with parameters in the URL, or
by POST with a JSON object. For programs: <a href="/openapi.json">/openapi.json</a>,
<a href="/procedures">/procedures</a>, <a href="/health">/health</a>,
<a href="/ready">/ready</a>.</p>
$sections
</html>
""")

_SECTION = Template("""<h2 id="$name">$name</h2>
<p>$description</p>
<form action="/procedures/$name" method="get">
$needed
<details><summary>Options</summary>
$options
</details>
<p><button>JSON</button><button formaction="/procedures/$name.csv">CSV</button></p>
</form>
<details><summary>Columns</summary>
<table><tr><th>column<th>type<th>meaning</tr>
$columns
</table></details>
""")


def page(procedures: Iterable[Procedure]) -> str:
    """Return the page as HTML.

    Args:
        procedures: What it shows, in order.
    """
    return _PAGE.substitute(sections="".join(map(_section, procedures)))


def _section(procedure: Procedure) -> str:
    """Return the part about one procedure."""
    needed = len(procedure.arguments)
    return _SECTION.substitute(
        name=escape(procedure.name),
        description=escape(procedure.description),
        needed="\n".join(_field(f, needed=True) for f in procedure.arguments),
        options="\n".join(_field(f) for f in parameters(procedure)[needed:]),
        columns="\n".join(
            f"<tr><td>{escape(f.name)}<td>{escape(f.kind)}<td>{escape(f.description)}"
            for f in procedure.columns
        ),
    )


def _field(field: Field, *, needed: bool = False) -> str:
    """Return the line of a form for one parameter."""
    name = escape(field.name)
    required = " required" if needed else ""
    return (
        f'<label>{name} <input name="{name}"{required}>'
        f"<small>{escape(field.description)} ({escape(field.kind)})</small></label>"
    )
