"""What happens to files that are damaged, to inputs that are wrong, and to processes that are killed."""
