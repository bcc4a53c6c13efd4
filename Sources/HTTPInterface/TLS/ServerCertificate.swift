import Foundation
import NIOSSL

/// A certificate with its chain and key, ready for handshakes.
package struct ServerCertificate: Sendable {
    /// The reason why the files cannot be used. The description names the file.
    package struct Failure: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    /// The bytes of both files.
    struct Contents: Hashable, Sendable {
        fileprivate var certificate: [UInt8]
        fileprivate var key: [UInt8]
    }

    let context: NIOSSLContext
    /// Beginning of the certificate's validity.
    let begins: Date
    /// End of the certificate's validity.
    let ends: Date

    /// Maximum size of a file, in bytes. A chain of ten certificates has about 20 KB.
    static let largestFile = 1 << 20

    /// Reads the files.
    package init(_ files: TLSFiles) throws(Failure) {
        try self.init(files, Self.contents(of: files))
    }

    init(_ files: TLSFiles, _ contents: Contents) throws(Failure) {
        let chain: [NIOSSLCertificate]
        do {
            chain = try NIOSSLCertificate.fromPEMBytes(contents.certificate)
        } catch {
            chain = []
        }
        guard let own = chain.first else {
            throw Failure(description: "\(files.certificate): holds no certificate; expected PEM, BEGIN CERTIFICATE")
        }
        let key: NIOSSLPrivateKey
        do {
            key = try NIOSSLPrivateKey(bytes: contents.key, format: .pem)
        } catch {
            throw Failure(
                description: "\(files.key): holds no key; expected PEM, BEGIN PRIVATE KEY, without a passphrase")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        // A client that does not answer the end of TLS must not delay a shutdown.
        configuration.shutdownTimeout = .seconds(1)
        do {
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw Failure(
                description: "\(files.key): is not the key of \(files.certificate), or TLS cannot use the two; "
                    + "expected the key that the certificate was issued for")
        }
        begins = Date(timeIntervalSince1970: Double(own.notValidBefore))
        ends = Date(timeIntervalSince1970: Double(own.notValidAfter))
    }

    static func contents(of files: TLSFiles) throws(Failure) -> Contents {
        Contents(certificate: try read(files.certificate), key: try read(files.key))
    }

    private static func read(_ path: String) throws(Failure) -> [UInt8] {
        guard access(path, R_OK) == 0 else {
            throw Failure(description: "\(path): \(String(cString: strerror(errno)))")
        }
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw Failure(description: "\(path): cannot be read")
        }
        defer { try? file.close() }
        guard let bytes = try? file.read(upToCount: largestFile + 1) ?? Data() else {
            throw Failure(description: "\(path): cannot be read")
        }
        guard bytes.count <= largestFile else {
            throw Failure(description: "\(path): has more than \(largestFile) bytes; expected a PEM file")
        }
        return Array(bytes)
    }

    /// Returns the problem of the validity; `nil` for a certificate that stays valid for the next two weeks.
    package func problem(at now: Date = .now) -> Problem? {
        let day = ISO8601DateFormatter()
        if now < begins {
            return Problem(
                isFatal: true,
                words: "the certificate is valid from \(day.string(from: begins)): clients refuse it until then")
        }
        if now >= ends {
            return Problem(
                isFatal: true,
                words: "the certificate expired at \(day.string(from: ends)): clients refuse it; renew it")
        }
        guard ends < now.addingTimeInterval(Self.notice) else { return nil }
        return Problem(isFatal: false, words: "the certificate expires at \(day.string(from: ends)): renew it")
    }

    /// A problem of a certificate's validity.
    package struct Problem: Hashable, Sendable {
        /// Whether clients refuse the certificate.
        package let isFatal: Bool
        package let words: String
    }

    /// Time before the end of the validity from which on a renewal is overdue, in seconds. Issuers renew a month before.
    private static let notice = 14 * 86400.0
}
