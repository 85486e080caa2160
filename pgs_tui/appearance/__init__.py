"""Themes, colours and characters, and the frame that is drawn before anything is loaded."""
