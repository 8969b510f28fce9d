"""A report on an extraction, as one HTML file that needs nothing else."""

from eval.fields.report.gathering import HeatMap, ReportGatherer, WorstRecord
from eval.fields.report.page import Table, report_page

__all__ = ["HeatMap", "ReportGatherer", "Table", "WorstRecord", "report_page"]
