"""What the command shows apart from printing: layouts, look-ups, JSON forms."""
