"""Moving history between stores and files."""
