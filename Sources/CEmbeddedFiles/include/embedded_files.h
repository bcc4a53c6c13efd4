// Files of the repository that are part of a program, so that a binary that was copied has them.
//
// In C because the Swift compiler checks the type of every byte of an array literal, which for a document of 220 KB
// takes longer than everything else in its module; `#embed` copies the bytes.
#ifndef CEMBEDDEDFILES_EMBEDDED_FILES_H
#define CEMBEDDEDFILES_EMBEDDED_FILES_H

#include <stddef.h>

/// A file as it was when the program was built. It lives as long as the program.
struct embedded_file {
    /// Path in the repository.
    const char *_Nonnull path;
    const unsigned char *_Nonnull bytes;
    size_t count;
};

/// Returns all files, and sets `count` to their number.
const struct embedded_file *_Nonnull embedded_files(size_t *_Nonnull count);

#endif
