"""Processes of the engine that answer questions, as seen from outside: started, asked line by line, ended."""
