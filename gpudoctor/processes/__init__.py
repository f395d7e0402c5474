"""What kind of program holds a GPU, and what its user can do about it. Pure: nothing here touches the machine."""
