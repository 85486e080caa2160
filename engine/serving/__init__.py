"""Answering requests over stdin and stdout, a line of JSON each, whatever they are about (docs/json.md)."""
