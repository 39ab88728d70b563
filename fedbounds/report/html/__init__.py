"""A study as one self-contained page that opens offline, for a screen of any width and for paper."""
