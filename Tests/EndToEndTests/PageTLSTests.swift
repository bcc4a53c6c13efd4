import ChildProcesses
import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import ViewerProbe

/// A page behind a certificate that the browser does not trust.
@Suite(.serialized, .timeLimit(.minutes(8)), .enabled(if: PagePrograms.missing.isEmpty)) struct PageTLSTests {
    /// Serves the directory over TLS with its certificate. Prints the port.
    private static let server = """
        import http.server, ssl
        handler = http.server.SimpleHTTPRequestHandler
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("certificate.pem", "key.pem")
        # The handshake belongs to the connection's own thread.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        print(f"port {server.server_port}", flush=True)
        server.serve_forever()
        """

    private static let makeCertificate = """
        exec openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1 \
        -keyout key.pem -out certificate.pem
        """

    /// Starts the server in a directory of the stage.
    private static func start(_ stage: Stage) async throws -> (process: ManagedProcess, port: Int) {
        let directory = stage.directory.appendingPathComponent("tls")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try TestPage.html(source: 3).write(
            to: directory.appendingPathComponent("board.html"), atomically: true, encoding: .utf8)
        let folder = "cd '\(directory.path)' && "
        let maker = try ManagedProcess("openssl", "/bin/sh", ["-c", folder + makeCertificate], in: stage.directory)
        try await waitUntil("a certificate is made") { !maker.isRunning }
        guard maker.exitStatus == 0 else { throw EndToEndError("openssl: \(maker.messages())") }
        let process = try ManagedProcess(
            "tls", "/bin/sh", ["-c", folder + #"exec python3 -c "$0""#, server], in: stage.directory)
        var port: Int?
        try await waitUntil("the server over TLS listens: \(process.messages())") {
            guard process.isRunning else { throw EndToEndError("the server over TLS: \(process.messages())") }
            let line = process.messages().split(separator: "\n").first { $0.hasPrefix("port ") }
            port = line.flatMap { Int($0.dropFirst(5)) }
            return port != nil
        }
        guard let port else { throw EndToEndError("no port") }
        return (process, port)
    }

    private struct RoomDocument: Decodable {
        struct Page: Decodable {
            var state: String
            var reason: String?
        }
        var pages: [Page]?
    }

    private struct TaskDocument: Decodable {
        struct Source: Decodable {
            var id: String
            var error: String?
        }
        var sources: [Source]?
    }

    /// The program of the others continues, and the room, the task and its timeline say why the page is not in it.
    @Test func aPageWithoutAValidCertificateIsNeverOnAir() async throws {
        try await Stage.run(environment: Stage.pageSettings()) { stage in
            let (process, port) = try await Self.start(stage)
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            try await stage.join(page: "https://127.0.0.1:\(port)/board.html", as: "board")
            var states: Set<String> = []
            var (reason, error): (String?, String?) = (nil, nil)
            let words = "certificate is not valid"
            try await waitUntil("the page has its reason: \(states) \(reason ?? "") \(error ?? "")") {
                let room = try await stage.client.request("GET", "/v1/rooms/\(stage.room)")
                let page = try JSONDecoder().decode(RoomDocument.self, from: room.body).pages?.first
                if let page { states.insert(page.state) }
                reason = page?.reason
                let task = try await stage.client.request("GET", "/v1/tasks/auto-\(stage.room)")
                error = try JSONDecoder().decode(TaskDocument.self, from: task.body).sources?.first {
                    $0.id == "board/camera"
                }?.error
                return reason?.contains(words) ?? false && error?.contains(words) ?? false
            }
            // It is tried again after a second, and then after growing delays.
            let sentence = "page board/camera fails: the page cannot be loaded: its \(words)"
            var entries: [String] = []
            try await waitUntil("the timeline says it for each attempt: \(entries)") {
                entries = try await stage.client.timeline(stage.room)
                return entries.count { $0.hasPrefix(sentence) } >= 3
            }
            let room = try await stage.client.request("GET", "/v1/rooms/\(stage.room)")
            states.formUnion(try JSONDecoder().decode(RoomDocument.self, from: room.body).pages?.map(\.state) ?? [])
            #expect(!states.isEmpty && !states.contains("on-air"), "\(states)")
            let task = try await stage.client.task(stage.room)?.state
            #expect(task?.onAir != nil && task?.outputs.map(\.reconnects) == [0])
            await process.stop()
        }
    }
}
