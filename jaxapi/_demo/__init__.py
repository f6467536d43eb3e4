"""What ``python -m jaxapi`` runs."""
