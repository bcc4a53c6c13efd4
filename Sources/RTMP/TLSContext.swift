import COpenSSL

/// The trusted certificates, or a server's own certificate, for any number of `TLSSession`s.
///
/// `@unchecked Sendable`: it does not change after its creation, and OpenSSL counts references and locks its caches.
package final class TLSContext: @unchecked Sendable {
    /// The certificates that the system trusts (on Debian the package ca-certificates; `SSL_CERT_FILE` and
    /// `SSL_CERT_DIR` name others). The first use reads them and blocks for some 20 ms, so it must not be on a socket
    /// loop.
    package static let system = TLSContext { SSL_CTX_set_default_verify_paths($0) == 1 }

    /// OpenSSL's context; `nil` if OpenSSL cannot be used, for the reason in `fault`.
    package let context: OpaquePointer?
    /// OpenSSL's description of the fault, if any.
    package let fault: String?

    /// Creates a context that trusts only the certificates of a PEM file.
    package convenience init(trusting file: String) {
        self.init { SSL_CTX_load_verify_locations($0, file, nil) == 1 }
    }

    private convenience init(trust: (OpaquePointer) -> Bool) {
        self.init(TLS_client_method(), otherwise: "the trusted certificates cannot be read") { context in
            guard trust(context) else { return false }
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
            return true
        }
    }

    /// Creates a server's context, which does not ask clients for certificates.
    ///
    /// - Parameters:
    ///   - certificate: PEM file with the certificate, followed by those that lead to a trusted one.
    ///   - key: PEM file with its key, without a passphrase.
    package convenience init(certificate: String, key: String) {
        self.init(TLS_server_method(), otherwise: "the certificate and the key do not belong together") { context in
            // OpenSSL would ask for a passphrase at the terminal.
            SSL_CTX_set_default_passwd_cb(context, noPassphrase)
            return SSL_CTX_use_certificate_chain_file(context, certificate) == 1
                && SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1
                && SSL_CTX_check_private_key(context) == 1
        }
    }

    /// - Parameter words: Description of the fault if `prepare` fails and OpenSSL gives no reason.
    private init(_ method: OpaquePointer?, otherwise words: String, prepare: (OpaquePointer) -> Bool) {
        cossl_begin()
        ERR_clear_error()
        guard let context = SSL_CTX_new(method) else {
            self.context = nil
            fault = TLSSession.reason ?? "OpenSSL does not work"
            return
        }
        guard cossl_restrict(context) == 1, prepare(context) else {
            fault = TLSSession.reason ?? words
            self.context = nil
            SSL_CTX_free(context)
            return
        }
        cossl_allow_moving(context)
        self.context = context
        fault = nil
    }

    deinit { SSL_CTX_free(context) }
}

private func noPassphrase(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ isWriting: Int32, _ data: UnsafeMutableRawPointer?
) -> Int32 { 0 }
