"""Measurement of answers from templates over a graph of heritage institutions."""
