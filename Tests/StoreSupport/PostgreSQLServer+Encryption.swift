import Foundation

/// Servers that accept encrypted connections only.
extension PostgreSQLServer {
    /// A self-signed certificate for 127.0.0.1, which is its own root, and its key, as PEM files.
    public struct Certificate: Sendable {
        public let file: String
        public let key: String
    }

    /// Makes a certificate in the server's directory. Its user owns the key, as the server demands.
    ///
    /// - Parameter name: Common name of the certificate, and name of its files.
    public func makeCertificate(_ name: String) throws -> Certificate {
        let made = Certificate(file: "\(directory)/\(name).pem", key: "\(directory)/\(name).key")
        try Self.run([
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=\(name)", "-addext",
            "subjectAltName=IP:127.0.0.1", "-keyout", made.key, "-out", made.file,
        ])
        return made
    }

    /// Restarts the server. From then on it accepts TCP connections with TLS only.
    public func encrypt(with certificate: Certificate) throws {
        for (name, value) in [
            ("ssl", "on"), ("ssl_cert_file", certificate.file), ("ssl_key_file", certificate.key),
        ] {
            try sql("ALTER SYSTEM SET \(name) = '\(value)'")
        }
        let rules = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n"
        try Data(rules.utf8).write(to: URL(fileURLWithPath: data + "/pg_hba.conf"))
        crash()
        try start()
    }
}
