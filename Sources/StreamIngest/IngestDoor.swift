import EncodedMedia
import Foundation
import Logging
import MixModel
import RTMP
import TextFormats

/// An address at which the ingest listens, with or without TLS. If listening fails, it is retried until it succeeds.
///
/// `@unchecked Sendable`: all state belongs to the socket loop, and every method must be called there.
final class IngestDoor: @unchecked Sendable {
    enum News {
        case listening(port: Int)
        case notListening(reason: String)
    }

    /// Time in ns between two attempts to listen.
    private static let retry: Int64 = 2_000_000_000

    let host: String
    private let port: Int
    private let tls: IngestTLS?
    private let logger: Logger
    private let onAccept: (Int32, InternetAddress?, TLSContext?) -> Void
    private let onNews: (News) -> Void
    private let timer = LoopDeadline()
    private var listener: TCPListener?
    private var certificate: TLSCertificate?
    private var fault: String?

    /// - Parameters:
    ///   - tls: The certificate; `nil` means no TLS.
    ///   - onAccept: Called with the descriptor of each new connection, which it then owns, and the TLS context.
    init(
        host: String, port: Int, tls: IngestTLS? = nil, logger: Logger,
        onAccept: @escaping (Int32, InternetAddress?, TLSContext?) -> Void, onNews: @escaping (News) -> Void
    ) {
        self.host = host
        self.port = port
        self.tls = tls
        self.logger = logger
        self.onAccept = onAccept
        self.onNews = onNews
    }

    /// Returns whether the door has these settings.
    func isSame(_ host: String, _ port: Int, _ tls: IngestTLS? = nil) -> Bool {
        self.host == host && self.port == port && self.tls == tls
    }

    /// Begins to listen, or reports again that it listens.
    func open() {
        if let listener { return onNews(.listening(port: Int(listener.port))) }
        timer.begin { [weak self] in self?.listen() }
        listen()
    }

    func close() {
        timer.end()
        listener?.close()
        listener = nil
    }

    private func listen() {
        guard listener == nil else { return }
        do throws(TLSCertificate.Failure) {
            if let tls, certificate == nil {
                certificate = try TLSCertificate(certificate: tls.certificate, key: tls.key) { [logger] failure in
                    if let failure {
                        logger.error("the former certificate stays in use: \(failure)")
                    } else {
                        logger.notice("the changed certificate is in use")
                    }
                }
            }
        } catch {
            return fail("the certificate cannot be used: \(error)")
        }
        do throws(TCPListener.Failure) {
            let listener = try TCPListener(host: host, port: UInt16(clamping: port)) {
                [weak self] descriptor, address in
                guard let self else {
                    Foundation.close(descriptor)
                    return
                }
                certificate?.refresh()
                onAccept(descriptor, address, certificate?.context)
            }
            self.listener = listener
            fault = nil
            logger.info("listening on \(host):\(listener.port)\(tls == nil ? "" : " with TLS")")
            onNews(.listening(port: Int(listener.port)))
        } catch {
            fail(error.isTaken ? "another process listens on \(host):\(port)" : error.description)
        }
    }

    private func fail(_ reason: String) {
        if fault != reason {
            fault = reason
            logger.error("cannot listen: \(reason)")
        }
        onNews(.notListening(reason: reason))
        timer.set(MonotonicClock.now() + Self.retry)
    }
}
