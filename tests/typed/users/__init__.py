"""Programs of users: type checkers find nothing wrong with them, and know what results are."""
