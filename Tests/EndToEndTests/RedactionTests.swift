import Foundation
import Testing

/// Secrets are planted at every input of a real service with real relays and mixers; afterwards no user-visible text
/// holds one.
@Suite(.serialized) struct RedactionTests {
    private static let secret = "S3CR3T"
    private static let token = "\(secret)-token-0123456789"

    @Test(.timeLimit(.minutes(5))) func secretsComeOutNowhere() async throws {
        let directory = try Workspace.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let tokenFile = directory.appendingPathComponent("token")
        try Data("\(Self.secret)-from-file-0123456789\n".utf8).write(to: tokenFile)
        let configuration = """
            apps:
              - id: default
                tokens:
                  - { token: \(Self.token), scopes: [events, tasks, layouts, read] }
                  - { tokenFile: \(tokenFile.path), scopes: [read] }
            sources: { allow: ["*://127.0.0.1", "*://localhost"] }
            outputs: { allow: ["*://127.0.0.1", "*://localhost", "rtmp://*.example"] }
            rooms: { outputs: ["rtmp://127.0.0.1:1/out/\(Self.secret)-default?key=\(Self.secret)"] }
            log: { level: trace }
            """
        let file = directory.appendingPathComponent("service.yaml")
        try Data(configuration.utf8).write(to: file)
        let (service, port) = try await Self.start(file, in: directory)
        do {
            try await plantAndLook(port, directory, service)
        } catch {
            await service.stop()
            throw error
        }
        await service.stop()
        Self.expectClean(service.messages(last: .max), "the service's log")
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path + "/data/relays")
        where name.hasSuffix(".log") {
            let log = try String(contentsOfFile: "\(directory.path)/data/relays/\(name)", encoding: .utf8)
            // The log of the fork server may be empty.
            #expect(!log.isEmpty || name.hasPrefix("_forkserver"))
            Self.expectClean(log, name)
        }
    }

    /// Returns a service that answers, and its port.
    private static func start(_ configuration: URL, in directory: URL) async throws -> (ManagedProcess, Int) {
        var said = ""
        // The port is chosen here and bound by the service a moment later: another process may be faster.
        for _ in 0..<5 {
            let port = HookingMediaServer.anyPort()
            let service = try ManagedProcess(
                "service", Workspace.executable("mixorchestrator"),
                [
                    "serve", "--config", configuration.path, "--listen", "127.0.0.1:\(port)", "--data",
                    directory.appendingPathComponent("data").path, "--layouts",
                    Workspace.root.appendingPathComponent("layouts").path,
                ], in: directory)
            try await waitUntil("the service answers\n\(service.messages())") {
                guard service.isRunning else { return true }
                return (try? await call(port, "GET", "/healthz").status) == 200
            }
            if service.isRunning { return (service, port) }
            said = service.messages()
        }
        throw EndToEndError("the service does not start on five ports\n\(said)")
    }

    private func plantAndLook(_ port: Int, _ directory: URL, _ service: ManagedProcess) async throws {
        let server = try OddServer(.garbage)
        defer { server.stop() }
        let key = "\(Self.secret)-key?auth_key=17-0-0-\(Self.secret)&user=\(Self.secret)"
        let urls = [
            "rtmp://127.0.0.1:1/live/\(key)", "rtmps://localhost:1/live/\(key)", "http://127.0.0.1:1/\(key)",
            "rtmp://127.0.0.1:\(server.port)/live/\(key)", "http://127.0.0.1:\(server.port)/live/deep/\(key)",
            // These URLs are refused.
            "rtmp://media.example/live/\(key)", "rtmp://\(Self.secret):\(Self.secret)@127.0.0.1/live/x",
            "gopher://127.0.0.1/live/\(key)", "rtmp://127.0.0.1/live/\(key) \(Self.secret)", "rtmp://10.0.0.1/\(key)",
            "file:///\(Self.secret)", "rtmp://127.0.0.1:\(Self.secret)/live/x",
        ]
        var answers: [String] = []
        for (index, url) in urls.enumerated() {
            let event = #"{"type":"stream.published","user":"u\#(index)","url":"\#(url)"}"#
            answers.append(try await Self.call(port, "POST", "/v1/rooms/demo/events", event, Self.token).text)
            let cloudEvent =
                #"{"specversion":"1.0","id":"\#(index)","source":"s","type":"stream.published","subject":"other","#
                + #""data":{"user":"u","url":"\#(url)"}}"#
            answers.append(try await Self.call(port, "POST", "/v1/events", "[\(cloudEvent)]", Self.token).text)
            let outputs = #"{"outputs":[{"id":"o\#(index)","url":"\#(url)"}]}"#
            answers.append(try await Self.call(port, "PUT", "/v1/rooms/pushed", outputs, Self.token).text)
            answers.append(
                try await Self.call(port, "POST", "/v1/tasks", #"{"room":"r","outputs":["\#(url)"]}"#, Self.token).text)
            answers.append(
                try await Self.call(
                    port, "POST", "/v1/tasks/auto-demo/outputs", #"{"id":"x\#(index)","url":"\#(url)"}"#, Self.token
                ).text)
            // A URL in a field that does not allow one.
            answers.append(
                try await Self.call(
                    port, "POST", "/v1/rooms/demo/events", #"{"type":"\#(url)","user":"\#(url)","x":"\#(url)"}"#,
                    Self.token
                ).text)
            answers.append(
                try await Self.call(port, "PUT", "/v1/rooms/demo", #"{"host":"\#(url)"}"#, Self.token).text)
            answers.append(try await Self.call(port, "POST", "/v1/events", "{\"\(url)", Self.token).text)
        }
        // An output that a relay cannot connect to.
        let outputs =
            #"{"outputs":[{"id":"a","url":"rtmp://127.0.0.1:1/out/\#(key)"},"#
            + #"{"id":"b","url":"rtmps://localhost:1/out/\#(key)"},"#
            + #"{"id":"c","url":"rtmp://127.0.0.1:\#(server.port)/out/\#(key)"}]}"#
        answers.append(try await Self.call(port, "PUT", "/v1/rooms/demo", outputs, Self.token).text)
        answers.append(try await Self.call(port, "GET", "/v1/rooms", nil, "\(Self.secret)-wrong-token").text)
        answers.append(try await Self.call(port, "GET", "/v1/rooms?token=\(Self.secret)", nil, nil).text)

        let paths = [
            "/v1/rooms", "/v1/rooms/demo", "/v1/rooms/other", "/v1/rooms/pushed", "/v1/tasks", "/v1/tasks/auto-demo",
            "/v1/tasks/auto-demo/timeline", "/v1/tasks/auto-other/timeline", "/metrics", "/readyz", "/v1/layouts",
        ]
        // The relay has reported every failure.
        var room = ""
        try await waitUntil("sources and outputs fail: \(room)") {
            room = try await Self.call(port, "GET", "/v1/rooms/demo", nil, Self.token).text
            return room.components(separatedBy: "\"error\":\"").count > 4
                && room.components(separatedBy: "\"lastError\":\"").count > 2
        }
        for path in paths {
            let answer = try await Self.call(port, "GET", path, nil, Self.token)
            #expect([200, 404].contains(answer.status), "\(path)")
            answers.append(answer.text)
        }
        for answer in answers { Self.expectClean(answer, "an answer") }
        #expect(answers.contains { $0.contains("rtmp://127.0.0.1:1/live/***") })

        let children = ProcessTable.descendants(of: service.identifier)
        #expect(children.contains { $0.arguments.contains("relay") })
        for process in [service.identifier] + children.map(\.identifier) {
            for name in process == service.identifier ? ["cmdline"] : ["cmdline", "environ"] {
                let bytes = FileManager.default.contents(atPath: "/proc/\(process)/\(name)") ?? Data()
                Self.expectClean(String(decoding: bytes, as: UTF8.self), "\(name) of \(process)")
            }
        }
    }

    private static func expectClean(_ text: String, _ place: String) {
        guard let range = text.range(of: secret) else { return }
        let start = text.index(range.lowerBound, offsetBy: -150, limitedBy: text.startIndex) ?? text.startIndex
        Issue.record("\(place): …\(text[start..<range.upperBound])")
    }

    private static func call(
        _ port: Int, _ method: String, _ path: String, _ body: String? = nil, _ token: String? = nil
    ) async throws -> (status: Int, text: String) {
        let answer = try await ServiceClient(port: port).request(
            method, path, json: body, headers: token.map { ["Authorization": "Bearer \($0)"] } ?? [:])
        return (answer.status, answer.text)
    }
}
