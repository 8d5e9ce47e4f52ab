"""Three-way merges, and what is built on them: revert, cherry-pick, restore, undo, retract."""
