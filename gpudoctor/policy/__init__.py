"""What the user requires of a machine: read from TOML, given to the engine, explained and written."""
