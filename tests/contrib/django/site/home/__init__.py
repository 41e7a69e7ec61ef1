"""What the site has."""
