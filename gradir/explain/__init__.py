"""Where numbers that are not finite come from: a call is run again and walked back."""
