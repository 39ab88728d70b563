"""What a person looks at: terminal, pictures, report."""
