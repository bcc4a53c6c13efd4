import Foundation

/// coturn on loopback: a relay between a WebRTC client and the service (RFC 8656).
struct TurnServer {
    static let executable = ["/usr/bin/turnserver"].first { FileManager.default.isExecutableFile(atPath: $0) }

    let user = "co-stream"
    let password = "password-of-the-test"
    let port: Int
    private let process: ManagedProcess

    /// Starts one, and returns when it listens.
    static func start(in directory: URL) async throws -> TurnServer {
        guard let executable else { throw EndToEndError("coturn is missing: run deploy/setup.sh --tests") }
        let server = try TurnServer(executable, in: directory)
        try await waitUntil("the TURN server listens\n\(server.log)") {
            guard server.process.isRunning else { throw EndToEndError("coturn has ended: \(server.log)") }
            return server.log.contains("UDP listener opened on")
        }
        return server
    }

    private init(_ executable: String, in directory: URL) throws {
        port = HookingMediaServer.anyPort()
        process = try ManagedProcess(
            "turnserver", executable,
            [
                "-n", "-v", "--no-cli", "--no-tls", "--no-dtls", "--listening-ip", "127.0.0.1", "--relay-ip",
                "127.0.0.1",
                "--allow-loopback-peers", "--listening-port", "\(port)", "--lt-cred-mech", "--realm", "test",
                "--user", "\(user):\(password)", "--log-file", "stdout", "--simple-log",
                "--pidfile", directory.appendingPathComponent("turn.pid").path,
                "--userdb", directory.appendingPathComponent("turn.db").path,
            ], in: directory)
    }

    /// As GStreamer wants it.
    ///
    /// - Parameter transport: `udp` or `tcp`, between the client and the server.
    func url(over transport: String) -> String { "turn://\(user):\(password)@127.0.0.1:\(port)?transport=\(transport)" }
    /// The service's settings for it.
    func environment(over transport: String) -> [String: String] {
        [
            "MIXORCHESTRATOR_WEBRTC_TURN_URL": "turn:127.0.0.1:\(port)?transport=\(transport)",
            "MIXORCHESTRATOR_WEBRTC_TURN_USER": user, "MIXORCHESTRATOR_WEBRTC_TURN_PASSWORD": password,
        ]
    }
    /// Number of places that it has given to clients, as RFC 8656 calls them: allocations.
    var allocations: Int { log.components(separatedBy: "packet ALLOCATE processed, success").count - 1 }
    /// What it has logged.
    var log: String { process.messages(last: .max) }

    func stop() async { await process.stop() }
}
