"""The engine for fleets: one repository below a prefix of a bucket, on S3 or a compatible store."""
