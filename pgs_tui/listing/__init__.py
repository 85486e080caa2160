"""Runs in a list: found below a folder, what each came to, tags and notes, deleted. No Textual here."""
