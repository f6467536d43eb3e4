"""Points with all their images, and clouds that do not see each other: a layer over the other searches."""
