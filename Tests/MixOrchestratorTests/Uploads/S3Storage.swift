import ChildProcesses
import Foundation
import Synchronization
import TestSupport
import Testing

/// An S3-compatible storage of a test: moto's server, which checks signatures (scripts/s3-server.py).
final class S3Storage: Sendable {
    static let accessKey = "AKIDOFATEST"
    static let secretKey = "S3CR3T/of+a=storage"

    /// Below those that the system gives to connections (32768–60999).
    let port = Int.random(in: 20_000..<30_000)
    private let directory: String
    private let process = Mutex<LaunchedProcess?>(nil)

    init(_ directory: String) { self.directory = directory }

    deinit { stop() }

    var endpoint: String { "http://127.0.0.1:\(port)" }

    /// Starts it, empty but for its buckets.
    func start() async throws {
        var launch = ProcessLaunch(
            OpenAPIDocument.root.appendingPathComponent("scripts/s3-server.sh").path,
            ["\(port)", Self.accessKey, Self.secretKey, "mix", "spare"])
        launch.environment = ProcessInfo.processInfo.environment
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

    /// Ends it with all that it has.
    func stop() {
        guard let process = process.withLock({ $0.take() }), process.isRunning else { return }
        process.signal(SIGKILL)
        process.onExit { _ in }
    }

    /// Spoils the next answers, as scripts/s3-server.py says.
    func spoil(_ kind: String, count: Int = 1, method: String, query: String = "") async throws {
        let body = #"{"kind":"\#(kind)","count":\#(count),"method":"\#(method)","query":"\#(query)"}"#
        let answer = try await HTTPExchange(port: port, "POST", "/_fault", body: Array(body.utf8)).answer()
        #expect(answer?.status == 204)
    }

    /// Lets temporary keys in, and no others.
    func renew(_ accessKey: String, _ secretKey: String, token: String) async throws {
        let body = #"{"access_key":"\#(accessKey)","secret_key":"\#(secretKey)","token":"\#(token)"}"#
        let answer = try await HTTPExchange(port: port, "POST", "/_keys", body: Array(body.utf8)).answer()
        #expect(answer?.status == 204)
    }

    /// Fetches what a signed link leads to.
    func fetch(_ link: String) async throws -> HTTPExchange.Answer {
        let path = try #require(link.hasPrefix(endpoint) ? String(link.dropFirst(endpoint.count)) : nil, "\(link)")
        let exchange = try HTTPExchange(port: port, "GET", path, headers: ["Host": "127.0.0.1:\(port)"])
        return try #require(await exchange.answer())
    }
}
