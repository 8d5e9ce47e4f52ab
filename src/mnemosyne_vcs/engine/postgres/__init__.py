"""The engine for many hosts: repositories in one PostgreSQL database."""
