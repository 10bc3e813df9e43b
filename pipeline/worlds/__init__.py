"""What tasks are drawn from: words, people, programs."""
