"""What there is to train: configs found on the disk, what each would do, and how its last run went. No Textual here."""
