"""The world that runs on habitat-sim: scene data, the worker process and its client."""
