"""Data sets written by hand that travel with the package."""
