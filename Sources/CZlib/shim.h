// zlib, whose set-up is a macro, which Swift cannot call.
#ifndef CZLIB_SHIM_H
#define CZLIB_SHIM_H

#include <zlib.h>

// Prepares for gzip's format (RFC 1952) at the best compression: 15 bits of window, and 16 for gzip's header.
static inline int czlib_begin_gzip(z_stream *stream) {
    return deflateInit2(stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
}

#endif
