import Foundation
import Testing

/// A self-signed certificate and its key, as PEM files. The test that makes it removes it.
struct TestCertificate {
    let directory: URL
    var file: String { directory.path + "/certificate.pem" }
    var key: String { directory.path + "/key.pem" }

    /// - Parameter names: As in OpenSSL's `subjectAltName`.
    static func make(for names: String = "DNS:localhost") async throws -> TestCertificate {
        let made = TestCertificate(
            directory: FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)"))
        try FileManager.default.createDirectory(at: made.directory, withIntermediateDirectories: true)
        let status = try await outputTool(
            "/usr/bin/env",
            [
                "sh", "-c", "exec openssl \"$@\" 2>/dev/null", "sh", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
                "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=\(names)", "-keyout", made.key, "-out",
                made.file,
            ])
        try #require(status == 0, "openssl makes no certificate")
        return made
    }

    func remove() { try? FileManager.default.removeItem(at: directory) }
}
