"""Output to a terminal, and signals from one."""
