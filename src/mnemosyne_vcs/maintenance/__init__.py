"""Looking after a store: checking, collecting garbage, copying."""
