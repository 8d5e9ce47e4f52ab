"""Adapters: the contracts of agent frameworks, mapped on a repository."""
