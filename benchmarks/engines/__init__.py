"""What engines cost beside plain writes and reads on the same servers, and what copies send."""
