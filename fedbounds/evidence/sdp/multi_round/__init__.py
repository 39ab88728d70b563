"""The worst case of R rounds over the whole class, bounded by certificates."""
