"""What a person sees in a terminal, and the signals that a person sends from one."""
