"""What is on disk: files, Parquet, journals, manifests, splits and the recipes of a release folder."""
