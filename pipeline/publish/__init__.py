"""Publishes a split on the Hugging Face Hub: its card, the folder to upload, the upload."""
