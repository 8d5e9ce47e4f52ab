"""The audit table: which questions about an agent's memory each kind of store can answer."""
