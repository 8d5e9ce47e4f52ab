"""Views: derived data for search and listing, each a pure function of a tree root."""
