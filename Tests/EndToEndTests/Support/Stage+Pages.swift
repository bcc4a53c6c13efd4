import Foundation

/// Web pages as participants.
extension Stage {
    /// Returns settings of a service that captures pages, with an ingest on a free port.
    ///
    /// - Parameter others: Additional settings of the service.
    static func pageSettings(adding others: [String: String] = [:]) -> [String: String] {
        [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_PAGES_ENABLED": "true", "MIXORCHESTRATOR_PAGES_USER": "nobody",
        ].merging(others) { $1 }
    }

    /// Creates the room with a page as its host, and returns when the program is a bypass of it.
    ///
    /// - Parameter ready: Condition under which the page goes on air; `nil` for the default of the service.
    func open(page url: String, as user: String, ready: String? = nil) async throws {
        try await client.putRoom(room, host: user, output: media.cdn(room), layout: layout, canvas: canvas)
        try await join(page: url, as: user, role: "host", ready: ready)
        try await waitForOnAir("bypass")
    }

    /// Reports a page as the stream of `user`.
    ///
    /// - Parameters:
    ///   - role: Role of the user; `nil` for the default of the service.
    ///   - ready: As for `open`.
    func join(page url: String, as user: String, role: String? = nil, ready: String? = nil) async throws {
        let options = [("role", role), ("ready", ready)].compactMap { name, value in
            value.map { #", "\#(name)": "\#($0)""# }
        }
        let answer = try await client.request(
            "POST", "/v1/rooms/\(room)/events",
            json: """
                {"type": "stream.published", "user": "\(user)", "kind": "page", "url": "\(url)"\(options.joined())}
                """)
        guard answer.status == 202 else { throw EndToEndError("the page is not taken: \(answer.text)") }
    }

    /// Suspends until no process of a page is left.
    func waitUntilPagesHaveEnded() async throws {
        try await waitUntil("no browser is left") {
            !ProcessTable.entries().contains { entry in
                entry.arguments.contains("page") && entry.arguments.contains { $0.hasPrefix(directory.path) }
            }
        }
    }
}
