"""What is wrong or odd in a data set, told with its places."""
