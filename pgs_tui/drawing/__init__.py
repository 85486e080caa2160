"""Text and charts as lines of styled cells, without a terminal and without Textual."""
