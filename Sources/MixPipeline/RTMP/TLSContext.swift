import COpenSSL

/// Whose certificates are believed, for any number of `TLSSession`s.
///
/// `@unchecked Sendable`: it is not changed after it was made, and OpenSSL counts the references and locks its caches.
final class TLSContext: @unchecked Sendable {
    /// Believes whom the system believes (on Debian the package ca-certificates; `SSL_CERT_FILE` and `SSL_CERT_DIR` name
    /// others). Reading them takes some 20 ms, once.
    static let system = TLSContext { SSL_CTX_set_default_verify_paths($0) == 1 }

    /// `nil` if OpenSSL cannot be used, of which `fault` tells.
    let context: OpaquePointer?
    /// OpenSSL's words.
    let fault: String?

    /// Believes the certificates of a PEM file and nobody else.
    convenience init(trusting file: String) {
        self.init { SSL_CTX_load_verify_locations($0, file, nil) == 1 }
    }

    private init(trust: (OpaquePointer) -> Bool) {
        cossl_begin()
        ERR_clear_error()
        guard let context = SSL_CTX_new(TLS_client_method()) else {
            self.context = nil
            fault = TLSSession.reason ?? "OpenSSL does not work"
            return
        }
        guard cossl_restrict(context) == 1, trust(context) else {
            fault = TLSSession.reason ?? "the trusted certificates cannot be read"
            self.context = nil
            SSL_CTX_free(context)
            return
        }
        cossl_allow_moving(context)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        self.context = context
        fault = nil
    }

    deinit { SSL_CTX_free(context) }
}
