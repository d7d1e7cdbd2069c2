"""`./coterie mcp`: the team as tools for an assistant, by the Model Context Protocol."""
