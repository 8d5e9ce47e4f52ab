"""Writing: what a transaction reads and writes, and how it lands."""
