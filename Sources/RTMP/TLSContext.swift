import COpenSSL

/// The trusted certificates for any number of `TLSSession`s.
///
/// `@unchecked Sendable`: it does not change after it is made, and OpenSSL counts references and locks its caches.
package final class TLSContext: @unchecked Sendable {
    /// The certificates that the system trusts (on Debian the package ca-certificates; `SSL_CERT_FILE` and
    /// `SSL_CERT_DIR` name others). Reading them takes some 20 ms, once.
    package static let system = TLSContext { SSL_CTX_set_default_verify_paths($0) == 1 }

    /// OpenSSL's context; `nil` if OpenSSL cannot be used, for the reason in `fault`.
    package let context: OpaquePointer?
    /// OpenSSL's description of the fault, if any.
    package let fault: String?

    /// Creates a context that trusts only the certificates of a PEM file.
    package convenience init(trusting file: String) {
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
