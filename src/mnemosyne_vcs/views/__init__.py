"""Views: what reads beyond a key need, each a pure function of a tree root."""
