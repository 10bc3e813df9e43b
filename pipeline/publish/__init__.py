"""A split on its way to the Hugging Face Hub: its card, the staged folder, the Hub itself."""
