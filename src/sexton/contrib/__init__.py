"""Sexton inside other frameworks, a package each. Nothing else of Sexton imports them."""
