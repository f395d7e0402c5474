"""What a policy asks of a machine. These rules are given the value asked for, and are not run without one."""
