"""The gate: policies, formats for CI, the library, the pytest plugin, examples."""
