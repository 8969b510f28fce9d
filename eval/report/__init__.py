"""What reports have in common: one HTML file each, that needs nothing else."""

from eval.report.page import html_page
from eval.report.parts import Table, facts, interval_cells, table
from eval.report.text import shown_text

__all__ = ["Table", "facts", "html_page", "interval_cells", "shown_text", "table"]
