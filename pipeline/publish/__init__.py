"""Cards, folders and uploads for the Hugging Face Hub."""
