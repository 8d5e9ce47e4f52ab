"""Maintenance of a store: checking, collecting garbage, copying."""
