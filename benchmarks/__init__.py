"""Mnemosyne's CrewAI backend and CrewAI's own two, measured side by side in one run."""
