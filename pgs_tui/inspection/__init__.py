"""The inspector behind the inspect screen: its process, its answers, and a sample as rows of a terminal."""
