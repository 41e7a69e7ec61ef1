"""What has to be done now and then."""
