import Foundation
import HTTPTypes
import Logging
import NIOCore
import TaskStore
import TestSupport
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

/// No request takes long, whatever its bytes: every route of the document gets the largest bodies, queries and headers.
@Suite(.serialized, .timeLimit(.minutes(30))) struct RequestCostTests {
    /// The limit in a release build, in ms of processor time.
    private static let limit = 50.0
    /// The limit as a multiple of the reference, which is reading a megabyte of events. The reference takes about 10 ms
    /// in a release build, and more in a debug build. A body of half a million numbers, the most values that fit, costs
    /// about 4 references; a cost that grows with the square of a length is hundreds of references. Other load on the
    /// machine also raises the processor time.
    private static let mostReferences = 20.0

    /// Measures a part of the operations in its own process, where nothing else takes processor time.
    @Test(arguments: 0..<groups) func noRequestTakesLong(_ group: Int) async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [group] in
            do {
                for report in try await RequestCostTests.measure(group) { RequestCostTests.say(report) }
                RequestCostTests.say(RequestCostTests.finished)
                exit(EXIT_SUCCESS)
            } catch {
                RequestCostTests.say("\(error)")
                exit(4)
            }
        }
        let report = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        print(report)
        #expect(report.contains(Self.finished) && !report.contains(Self.tooLong), "\(report)")
    }

    private static let groups = 6
    /// Every n-th request of an operation is sent, from a random one on: operations share their readers.
    private static let part = TestLength.of(short: 8, long: 1)
    private static let finished = "every request is measured"
    private static let tooLong = "TOO LONG"

    private static func say(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }

    struct Request: Sendable {
        var name: String
        var method: HTTPRequest.Method
        /// Makes the request when it is sent: all requests together are gigabytes.
        var make: @Sendable () -> Parts
    }

    struct Parts: Sendable {
        var uri: String
        var headers: HTTPFields = [:]
        var body: String?
    }

    /// - Returns: A line for each operation, with its slowest requests.
    private static func measure(_ group: Int) async throws -> [String] {
        let reference = ProcessorTime.reference()
        let limit = max(limit, mostReferences * reference)
        let reports = LockedBox<[String]>([])
        let settings = OpenAPIRequest.settings.merging(["http.rate.failures": ["0"]]) { $1 }
        try await withDirectory { directory in
            try OpenAPIRequest.fillDirectory(directory)
            let store = try await OpenAPIRequest.filledStore()
            let application = try await buildOrchestrator(
                testConfiguration(directory, settings), store: store, starter: ScriptedRelays(),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            try await application.test(.router) { client in
                let bench = Bench(
                    client: client, relays: ScriptedRelays(), store: store, directory: directory, log: LogRecorder())
                func cost(_ request: Request) async throws -> Double {
                    let parts = request.make()
                    let start = ProcessorTime.now()
                    let answer = try await bench.call(
                        request.method, parts.uri, parts.body, headers: parts.headers)
                    let cost = ProcessorTime.now() - start
                    if answer.status == 500 { say("500: \(request.name): \(answer.text.prefix(300))") }
                    return answer.status == 500 ? .infinity : cost
                }
                let document = try OpenAPIDocument()
                var random = SeededGenerator(announcedFor: "requests")
                say("requests chosen with seed \(random.seed)")
                for (index, operation) in document.operations.enumerated() where index % groups == group {
                    var costs: [(cost: Double, name: String)] = []
                    let first = Int.random(in: 0..<part, using: &random)
                    for (number, request) in try Self.requests(operation, document).enumerated()
                    where number % part == first {
                        var times = [try await cost(request)]
                        // The cost is the median of three: the first request may have paid for one-time work.
                        if times[0] > limit { times += [try await cost(request), try await cost(request)] }
                        costs.append((times.sorted()[times.count / 2], request.name))
                    }
                    reports.value.append(report(costs, limit: limit, reference: reference))
                }
            }
        }
        return reports.value
    }

    private static func report(_ costs: [(cost: Double, name: String)], limit: Double, reference: Double) -> String {
        let sorted = costs.sorted { $0.cost > $1.cost }
        func shown(_ ms: Double) -> String { String(format: "%.1f ms = %.2f references", ms, ms / reference) }
        let lines = sorted.enumerated().prefix { $0.offset < 2 || $0.element.cost > limit }.map { _, entry in
            "  \(entry.cost > limit ? tooLong + " " : "")\(shown(entry.cost)): \(entry.name)"
        }
        let median = sorted.isEmpty ? 0 : sorted[sorted.count / 2].cost
        return (["\(sorted.count) requests, median \(shown(median)), limit \(shown(limit))"] + lines)
            .joined(separator: "\n")
    }

    // MARK: Requests

    private static func requests(
        _ operation: OpenAPIDocument.Operation, _ document: OpenAPIDocument
    ) throws -> [Request] {
        let isLayout = operation.id.contains("Layout")
        let most = isLayout ? LayoutFiles.longestFile : BodyLimit.bytes
        var requests: [Request] = []
        let method = try #require(HTTPRequest.Method(operation.method))
        // Operations that never stop answering get a room that does not exist.
        let goesOn = ["watch", "watchOfApp", "followRoom", "followMessages"].contains(operation.id)
        let examples = try OpenAPIRequest.all(of: operation, in: document)
        guard let first = examples.first else { return [] }
        let uri = goesOn ? first.uri.replacing("demo", with: "nobody") : first.uri
        let path = String(uri.prefix { $0 != "?" })
        func add(_ what: String, _ make: @escaping @Sendable () -> Parts) {
            requests.append(
                Request(name: "\(operation.method) \(operation.path) \(what)", method: method) {
                    var parts = make()
                    for field in first.headers where parts.headers[field.name] == nil {
                        parts.headers[field.name] = field.value
                    }
                    return parts
                })
        }
        let names =
            ["auth_key"]
            + operation.parameters.filter { $0["in"] as? String == "query" }.compactMap { $0["name"] as? String }
        for text in NastyText.allCases {
            add("query of \(text)") {
                let value = text.encoded(60_000 / names.count)
                return Parts(uri: path + "?" + names.map { "\($0)=\(value)" }.joined(separator: "&"))
            }
            add("path of \(text)") {
                let value = text.encoded(60_000)
                return Parts(uri: path.replacing("demo", with: value).replacing("nobody", with: value))
            }
        }
        add("thousands of parameters") {
            Parts(uri: path + "?" + (0..<8000).map { "a\($0)=1" }.joined(separator: "&"))
        }
        add("a parameter again and again") {
            Parts(uri: path + "?" + Array(repeating: "limit=1", count: 7000).joined(separator: "&"))
        }
        for header in headers(operation) {
            for text in [NastyText.brackets, .urls, .commas, .marks] {
                add("\(header) of \(text)") { Parts(uri: uri, headers: [header: text.text(60_000)]) }
            }
        }
        guard operation.body != nil || operation.path == "/" else { return requests }
        let type = operation.path == "/" ? form : first.headers[.contentType] ?? "application/json"
        for (name, body) in NastyText.documents(most - 16) {
            add("body of \(name)") { Parts(uri: uri, headers: [.contentType: type], body: body) }
        }
        for example in examples {
            guard let body = example.body else { continue }
            let type = example.headers[.contentType] ?? type
            // Keys and values alternate; the first ones represent the others.
            for number in 0..<min(8, body.matches(of: Self.texts).count) {
                for text in [NastyText.brackets, .urls, .mixedMarks] {
                    add("\(example.name) with text \(number) of \(text)") {
                        Parts(
                            uri: uri, headers: [.contentType: type],
                            body: Self.body(body, text: number, of: text, bytes: most - body.utf8.count - 16))
                    }
                }
            }
        }
        return requests
    }

    private static let form = "application/x-www-form-urlencoded"

    private static func headers(_ operation: OpenAPIDocument.Operation) -> [HTTPField.Name] {
        let own = operation.parameters.filter { $0["in"] as? String == "header" }
            .compactMap { ($0["name"] as? String).flatMap { HTTPField.Name($0) } }
        return own + [.authorization, .accept, .contentType, .range, .origin, .ifMatch, .ifNoneMatch]
    }

    /// Returns the example with one of its texts, a key or a value, replaced by a long one.
    private static func body(_ body: String, text number: Int, of text: NastyText, bytes: Int) -> String {
        var changed = body
        changed.replaceSubrange(body.matches(of: texts)[number].range, with: text.json(bytes))
        return changed
    }

    private static var texts: Regex<Substring> { #/"(?:[^"\\]|\\.)*"/# }
}
