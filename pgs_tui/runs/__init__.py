"""A run seen from outside: started, followed, steered and remembered. Nothing here knows a screen."""
