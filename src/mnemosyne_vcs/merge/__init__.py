"""Three-way merges and operations on them: revert, cherry-pick, restore, undo, retract."""
