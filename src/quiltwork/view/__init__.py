"""What people see: terminal, charts, pages."""
