/// The PEM files of the HTTP server's certificate.
package struct TLSFiles: Hashable, Sendable {
    /// Path of the certificate, followed by its chain.
    package var certificate: String
    /// Path of the certificate's key, without a passphrase.
    package var key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}
