"""Measurement. Import from its modules; never write `import eval`."""
