"""What a fit returns: the result, its diagnostics, the ladder, tables, pictures and the report."""
