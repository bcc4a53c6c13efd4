import Foundation

/// coturn on loopback: a relay between a WebRTC client and the service (RFC 8656).
struct TurnServer {
    static let executable = ["/usr/bin/turnserver"].first { FileManager.default.isExecutableFile(atPath: $0) }

    /// The credentials that the server demands of clients.
    enum Access: Equatable {
        case password
        /// Names and passwords that expire.
        case secret
    }

    private static let user = "co-stream"
    private static let password = "password-of-the-test"
    private static let secret = "secret-of-the-test"
    private let access: Access
    private let port: Int
    private let process: ManagedProcess

    /// Starts a server, and returns when it listens.
    static func start(_ access: Access, in directory: URL) async throws -> TurnServer {
        guard let executable else { throw EndToEndError("coturn is missing: run deploy/setup.sh --tests") }
        var said = ""
        // The port is chosen here and bound by the server a moment later: another process may be faster.
        for _ in 0..<5 {
            let server = try TurnServer(executable, access, in: directory)
            try await waitUntil("the TURN server listens\n\(server.log)") {
                !server.process.isRunning || server.log.contains("UDP listener opened on")
            }
            if server.process.isRunning { return server }
            said = server.log
        }
        throw EndToEndError("coturn has ended: \(said)")
    }

    private init(_ executable: String, _ access: Access, in directory: URL) throws {
        self.access = access
        port = HookingMediaServer.anyPort()
        let credentials =
            access == .password
            ? ["--lt-cred-mech", "--user", "\(Self.user):\(Self.password)"]
            : ["--use-auth-secret", "--static-auth-secret", Self.secret]
        process = try ManagedProcess(
            "turnserver", executable,
            [
                "-n", "-v", "--no-cli", "--no-tls", "--no-dtls", "--listening-ip", "127.0.0.1", "--relay-ip",
                "127.0.0.1",
                "--allow-loopback-peers", "--listening-port", "\(port)", "--realm", "test",
                "--log-file", "stdout", "--simple-log",
                "--pidfile", directory.appendingPathComponent("turn.pid").path,
                "--userdb", directory.appendingPathComponent("turn.db").path,
            ] + credentials, in: directory)
    }

    /// The server's URL with the password, in GStreamer's form.
    var url: String { "turn://\(Self.user):\(Self.password)@127.0.0.1:\(port)" }

    /// The service's settings for this server.
    ///
    /// - Parameter transport: `udp` or `tcp`, between clients and the server; `nil` means either.
    func environment(over transport: String? = nil) -> [String: String] {
        let query = transport.map { "?transport=\($0)" } ?? ""
        let url = ["MIXORCHESTRATOR_WEBRTC_TURN_URL": "turn:127.0.0.1:\(port)\(query)"]
        let credentials =
            access == .password
            ? [
                "MIXORCHESTRATOR_WEBRTC_TURN_USER": Self.user,
                "MIXORCHESTRATOR_WEBRTC_TURN_PASSWORD": Self.password,
            ] : ["MIXORCHESTRATOR_WEBRTC_TURN_SECRET": Self.secret]
        return url.merging(credentials) { $1 }
    }

    /// Number of allocations (RFC 8656) that the server has given to clients.
    var allocations: Int { log.components(separatedBy: "packet ALLOCATE processed, success").count - 1 }
    /// The server's complete log.
    var log: String { process.messages(last: .max) }

    func stop() async { await process.stop() }
}
