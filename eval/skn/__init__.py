"""The benchmark that compares extraction formats."""
