"""Recorded play to look at: a web page's player (`page`) and GIF files (`gif`)."""
