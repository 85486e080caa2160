"""What opens in front of any screen: questions, lists, lines to write in, pages of text."""
