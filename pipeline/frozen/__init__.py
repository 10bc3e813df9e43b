"""What may not change: locks, what differs between two, and the guard of a frozen folder."""
