"""`pgs profile`: what a config takes of a GPU, told before it runs, and measured on one."""
