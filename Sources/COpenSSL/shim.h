// OpenSSL's TLS for RTMP: the headers, and inline functions only for what Swift cannot import (macros).
#ifndef COPENSSL_SHIM_H
#define COPENSSL_SHIM_H

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/// Before anything else of OpenSSL is used. It must not free its tables when the process exits: threads that still
/// encrypt would use them.
static inline void cossl_begin(void) { OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL); }

/// TLS 1.2 and newer, and no renegotiation: after the handshake 1.2 has nothing to say but bytes.
static inline int cossl_restrict(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

/// A write that is repeated may come from other memory.
static inline void cossl_allow_moving(SSL_CTX *context) {
    SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

/// The name that the server is told (SNI).
static inline int cossl_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}

#endif
