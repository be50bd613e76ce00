"""What answers the question: the `Method` object, the registry, and every method that ships."""
