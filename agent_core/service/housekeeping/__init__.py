"""What is removed, archived and put in order, by people or by time."""
