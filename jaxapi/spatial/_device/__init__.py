"""What the engines on devices share, and the choice of engine."""
