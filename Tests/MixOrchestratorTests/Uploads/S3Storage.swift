import ChildProcesses
import Foundation
import Synchronization
import TestSupport
import Testing

/// An S3-compatible storage for tests: moto's server, which checks signatures (scripts/s3-server.py).
final class S3Storage: Sendable {
    static let accessKey = "AKIDOFATEST"
    static let secretKey = "S3CR3T/of+a=storage"

    var port: Int { reserved.number }
    private let reserved: ReservedPort
    private let directory: String
    private let process = Mutex<LaunchedProcess?>(nil)

    init(_ directory: String) throws {
        self.directory = directory
        reserved = try ReservedPort()
    }

    deinit { endProcess() }

    var endpoint: String { "http://127.0.0.1:\(port)" }

    /// A fault in the answer to a request, as in scripts/s3-server.py.
    struct Fault: Codable, Sendable {
        var kind: String
        var count = 1
        var method: String
        var query = ""
    }

    /// Starts the server, empty except for its buckets.
    ///
    /// - Parameter faults: The faults of the first requests, which may arrive at once.
    func start(faults: [Fault] = []) async throws {
        var launch = ProcessLaunch(
            OpenAPIDocument.root.appendingPathComponent("scripts/s3-server.sh").path,
            ["\(port)", Self.accessKey, Self.secretKey, "mix", "spare"])
        let text = String(decoding: try JSONEncoder().encode(faults), as: UTF8.self)
        launch.environment = ProcessInfo.processInfo.environment.merging(["FAULTS": text]) { $1 }
        launch.output = .file("\(directory)/s3.log", truncates: false)
        launch.errors = .output
        let started = try launch.start()
        process.withLock { $0 = started }
        // The packages may have to be installed first.
        let answers = try await poll(within: .seconds(240), every: .milliseconds(50)) { () -> Bool? in
            guard started.isRunning else { return false }
            return await (try? HTTPExchange(port: self.port, "GET", "/mix/none"))?.answer() == nil ? nil : true
        }
        guard answers == true else {
            let log = (try? String(contentsOfFile: "\(directory)/s3.log", encoding: .utf8)) ?? ""
            Issue.record("the storage does not answer: \(log.suffix(4000))")
            throw TimedOut()
        }
    }

    /// Ends the server, whose content is lost, and waits until it no longer answers.
    func stop() async throws {
        guard let process = endProcess() else { return }
        try await eventually("the storage does not end") { process.isRunning ? nil : true }
    }

    /// Returns the process, which may still be there for a moment; `nil` if none runs.
    @discardableResult private func endProcess() -> LaunchedProcess? {
        guard let process = process.withLock({ $0.take() }), process.isRunning else { return nil }
        process.signal(SIGKILL)
        process.onExit { _ in }
        return process
    }

    /// Makes the server accept these temporary keys, and no others.
    func renew(_ accessKey: String, _ secretKey: String, token: String) async throws {
        let body = #"{"access_key":"\#(accessKey)","secret_key":"\#(secretKey)","token":"\#(token)"}"#
        let answer = try await HTTPExchange(port: port, "POST", "/_keys", body: Array(body.utf8)).answer()
        #expect(answer?.status == 204)
    }

    /// Downloads from a signed link.
    func fetch(_ link: String) async throws -> HTTPExchange.Answer {
        let path = try #require(link.hasPrefix(endpoint) ? String(link.dropFirst(endpoint.count)) : nil, "\(link)")
        let exchange = try HTTPExchange(port: port, "GET", path, headers: ["Host": "127.0.0.1:\(port)"])
        return try #require(await exchange.answer())
    }
}
