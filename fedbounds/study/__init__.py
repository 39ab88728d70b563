"""Problem x weightings x claims."""
