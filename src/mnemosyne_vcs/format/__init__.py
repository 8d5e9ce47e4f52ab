"""What the bytes of a repository mean: objects, their limits, and CAR files."""
