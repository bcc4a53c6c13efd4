// Files of the repository that are part of a program, so that a binary that was copied has them.
//
// In C because the Swift compiler checks the type of every byte of an array literal, which for a document of 220 KB
// takes longer than everything else in its module; `#embed` copies the bytes.
#ifndef CEMBEDDEDFILES_EMBEDDED_FILES_H
#define CEMBEDDEDFILES_EMBEDDED_FILES_H

#include <stddef.h>

/// Returns the text of openapi.yaml, which lives as long as the program, and sets `count` to its size in bytes.
const unsigned char *_Nonnull embedded_openapi(size_t *_Nonnull count);

/// The same of pages/publish.html.
const unsigned char *_Nonnull embedded_publish_page(size_t *_Nonnull count);

/// The same of pages/watch.html.
const unsigned char *_Nonnull embedded_watch_page(size_t *_Nonnull count);

#endif
