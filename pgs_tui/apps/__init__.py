"""One Textual application for each thing the program is opened for."""
