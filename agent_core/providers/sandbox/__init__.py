"""The sandbox: runs programs of agents in bubblewrap or Docker, with limits and a process supervisor."""
