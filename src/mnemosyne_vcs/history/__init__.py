"""The past: the commit graph, the log, blame and what was derived from what."""
