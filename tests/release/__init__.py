"""The check of a release: archives, built, looked at, installed and run in clean environments."""
