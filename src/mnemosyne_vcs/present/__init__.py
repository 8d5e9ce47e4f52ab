"""What the command and the web page both show: layouts, look-ups, JSON forms."""
