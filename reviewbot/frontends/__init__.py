"""A person, a hook or a robot comes in; an exit code goes out."""
