"""A whole chat platform in little: threads of plain lines, with buttons and forms. What a new platform has to bring."""
