import Foundation
import Logging
import NIOPosix
import NIOSSL
import RoomService
import ServiceLifecycle
import Synchronization

/// The certificate of the HTTP server, which is reloaded when its files change.
///
/// Existing connections keep the certificate with which they began. If the files are unusable, the previous certificate
/// stays in use.
package final class CertificateKeeper: Service {
    private struct State {
        var certificate: ServerCertificate
        /// The contents read last, whether usable or not; `nil` if nothing could be read.
        var contents: ServerCertificate.Contents?
        /// The problem that was logged last, so that each is logged once.
        var logged: String?
    }

    private let files: TLSFiles
    private let state: Mutex<State>
    private let logger: Logger
    private let interval: Duration

    /// Reads the files.
    ///
    /// - Parameter interval: Interval between two checks of the files.
    /// - Throws: `StartupError` that names the file.
    package init(_ files: TLSFiles, logger: Logger, interval: Duration = .seconds(1)) throws(StartupError) {
        self.files = files
        self.logger = logger
        self.interval = interval
        do throws(ServerCertificate.Failure) {
            let contents = try ServerCertificate.contents(of: files)
            state = Mutex(State(certificate: try ServerCertificate(files, contents), contents: contents))
        } catch {
            throw StartupError("http.tls: \(error)")
        }
        logProblem()
    }

    /// The context of new connections.
    var context: NIOSSLContext { state.withLock { $0.certificate.context } }

    package func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: self.interval)
                try await NIOThreadPool.singleton.runIfActive { self.reload() }
            }
        }
    }

    /// Reads the files, and uses their contents if they have changed.
    private func reload() {
        do throws(ServerCertificate.Failure) {
            let contents = try ServerCertificate.contents(of: files)
            guard state.withLock({ $0.contents != contents }) else { return logProblem() }
            state.withLock { $0.contents = contents }
            let certificate = try ServerCertificate(files, contents)
            state.withLock { ($0.certificate, $0.logged) = (certificate, nil) }
            logger.notice("the changed certificate of http.tls is in use")
            logProblem()
        } catch {
            let words = "http.tls: the former certificate stays in use: \(error)"
            guard state.withLock({ $0.logged.exchange(for: words) }) else { return }
            logger.error("\(words)")
        }
    }

    /// Logs a problem of the validity, once.
    private func logProblem() {
        let problem = state.withLock { state -> ServerCertificate.Problem? in
            guard let problem = state.certificate.problem(), state.logged.exchange(for: problem.words) else {
                return nil
            }
            return problem
        }
        guard let problem else { return }
        logger.log(level: problem.isFatal ? .error : .warning, "http.tls: \(files.certificate): \(problem.words)")
    }
}

extension String? {
    /// Replaces the value.
    ///
    /// - Returns: False if the value is unchanged.
    fileprivate mutating func exchange(for words: String) -> Bool {
        defer { self = words }
        return self != words
    }
}
