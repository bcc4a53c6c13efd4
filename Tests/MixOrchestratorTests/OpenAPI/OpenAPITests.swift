import Foundation
import HTTPTypes
import MixModel
import TaskStore
import Testing
import Yams

@testable import MixOrchestrator
@testable import RoomService

/// The service and its document agree.
@Suite(.timeLimit(.minutes(15))) struct OpenAPITests {
    // MARK: Routes

    private static func plain(_ method: String, _ path: some StringProtocol) -> String {
        let names = String(path).replacing(#/\{[^}]*\}/#, with: "{}")
        return "\(method) /" + names.drop { $0 == "/" }
    }

    /// Returns the routes that the sources add.
    private static func routed() throws -> Set<String> {
        let sources = OpenAPIDocument.root.appendingPathComponent("Sources/HTTPInterface")
        var routes: Set<String> = []
        for file in try FileManager.default.subpathsOfDirectory(atPath: sources.path) where file.hasSuffix(".swift") {
            let text = try String(contentsOf: sources.appendingPathComponent(file), encoding: .utf8)
            for match in text.matches(of: #/router\.(get|put|post|delete|patch|head)\("([^"]+)"/#) {
                routes.insert(plain(match.1.uppercased(), match.2))
            }
            for match in text.matches(of: #/router\.on\("([^"]+)", method: \.(\w+)/#) {
                routes.insert(plain(match.2.uppercased(), match.1))
            }
        }
        return routes
    }

    @Test func everyRouteIsDocumentedAndNoOther() throws {
        let routed = try Self.routed()
        let documented = Set(try OpenAPIDocument().operations.map { Self.plain($0.method, $0.path) })
        #expect(documented.subtracting(routed) == [], "documented, and not there")
        #expect(routed.subtracting(documented) == [], "there, and not documented")
        #expect(routed.count >= 25)
    }

    @Test func theRouterHasTheMethodsOfTheDocument() async throws {
        let document = try OpenAPIDocument()
        let paths = Dictionary(grouping: document.operations, by: \.path)
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                for (path, operations) in paths {
                    var methods = Set(operations.map(\.method)).union(["OPTIONS"])
                    if methods.contains("GET") { methods.insert("HEAD") }
                    let uri = path.replacing(#/\{[^}]*\}/#, with: "x")
                    let answer = try await bench.call(.init("TRACE") ?? .trace, uri)
                    #expect(answer.status == 405, "\(path): \(answer.text)")
                    #expect(answer.headers[.allow] == methods.sorted().joined(separator: ", "), "\(path)")
                    // 100ms' clients read that interface's own format.
                    let isHMS = path.hasPrefix("/v2/")
                    #expect(answer.headers[.contentType] == "application/\(isHMS ? "" : "problem+")json")
                    if !operations.contains(where: { $0.method == "OPTIONS" }) {
                        let options = try await bench.call(.options, uri)
                        #expect(options.status == 204)
                        #expect(options.headers[.allow] == methods.sorted().joined(separator: ", "))
                    }
                }
                #expect(try await bench.call(.options, "/v1/nothing").status == 404)
                #expect(try await bench.call(.head, "/v1/rooms").status == 200)
            }
        }
    }

    // MARK: Document

    @Test func theDocumentIsServed() async throws {
        let text = try OpenAPIDocument().text
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                let answer = try await bench.call(.get, "/openapi.yaml")
                #expect(answer.headers[.contentType] == "application/yaml")
                #expect(answer.text == text)
            }
        }
    }

    @Test func everyReferenceLeadsSomewhere() throws {
        let document = try OpenAPIDocument()
        for match in document.text.matches(of: #/\$ref: "(#/[^"]+)"/#) {
            let target = OpenAPIDocument.resolved(["$ref": String(match.1)], in: document.content)
            #expect(!target.isEmpty, "\(match.1)")
        }
    }

    @Test func everyRequestAndAnswerHasAnExampleThatKeepsToItsSchema() throws {
        let document = try OpenAPIDocument()
        #expect(Set(document.operations.map(\.id)).count == document.operations.count, "an operationId is there twice")
        for operation in document.operations {
            var media = (operation.body?["content"] as? [String: [String: Any]] ?? [:]).map { ("body", $0, $1) }
            for (status, response) in operation.responses {
                media += (response["content"] as? [String: [String: Any]] ?? [:]).map { (status, $0, $1) }
            }
            for (place, type, content) in media where !Self.isMedia(type) {
                let examples = document.examples(of: content)
                #expect(!examples.isEmpty, "\(operation.testDescription) \(place) \(type) has no example")
                for (name, value) in examples {
                    let faults = document.schema(content["schema"]).faults(of: value)
                    #expect(faults == [], "\(operation.testDescription) \(place) \(type) \(name)")
                    guard type == "application/problem+json" else { continue }
                    #expect(
                        (value as? [String: Any])?["status"] as? Int == Int(place), "\(operation.id) \(place) \(name)")
                }
            }
            for parameter in operation.parameters {
                for (_, value) in document.examples(of: parameter) {
                    let faults = document.schema(parameter["schema"]).faults(of: value)
                    #expect(faults == [], "\(operation.testDescription) \(parameter["name"] ?? "")")
                }
                guard parameter["in"] as? String == "path" else { continue }
                #expect(!document.examples(of: parameter).isEmpty, "\(operation.id) \(parameter["name"] ?? "")")
            }
        }
    }

    /// Whether content of this type is played, followed or unpacked rather than read.
    private static func isMedia(_ type: String) -> Bool {
        type.hasPrefix("video/") || type.hasPrefix("image/")
            || ["application/vnd.apple.mpegurl", "application/zip", "text/event-stream"].contains(type)
    }

    @Test func messagesToSubscribersKeepToTheirSchema() throws {
        let document = try OpenAPIDocument()
        let webhooks = try #require(document.content["webhooks"] as? [String: [String: Any]])
        #expect(Set(webhooks.keys) == Set(Topic.allCases.map(\.rawValue)))
        for (topic, item) in webhooks {
            let body = (item["post"] as? [String: Any])?["requestBody"] as? [String: Any]
            let media = try #require(
                (body?["content"] as? [String: [String: Any]])?["application/cloudevents+json"], "\(topic)")
            let example = try #require(media["example"] as? [String: Any])
            #expect(example["type"] as? String == topic)
            #expect(document.schema(media["schema"]).faults(of: example) == [], "\(topic)")
        }
        for occurrence in SampleOccurrences.all {
            let bytes = Array(jsonBytes(WebhookEvent(occurrence, id: "msg_1", number: 7)).readableBytesView)
            let value = try #require(try Yams.load(yaml: String(decoding: bytes, as: UTF8.self)))
            let schema = document.schema(["$ref": "#/components/schemas/WebhookEvent"])
            #expect(schema.faults(of: value) == [], "\(occurrence.topic)")
        }
    }

    // MARK: Documented refusals

    /// Expects one of the document's examples, except for values that come from the request.
    private func expectDocumented(
        _ answer: Answer, _ status: Int, of operation: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(answer.status == status, "\(answer.text)", sourceLocation: sourceLocation)
        let document = try OpenAPIDocument()
        let documented = try #require(document.operations.first { $0.id == operation }?.responses["\(status)"])
        let media = try #require((documented["content"] as? [String: [String: Any]])?["application/problem+json"])
        func essence(_ problem: Any) -> [String] {
            ["type", "title", "field", "expected"].map { (problem as? [String: Any])?[$0] as? String ?? "" }
        }
        let examples = document.examples(of: media).map { essence($0.value) }
        let found = essence(try #require(try Yams.load(yaml: answer.text)))
        #expect(examples.contains(found), "\(found) is none of \(examples)", sourceLocation: sourceLocation)
        for (header, rule) in documented["headers"] as? [String: [String: Any]] ?? [:]
        where document.resolved(rule)["required"] as? Bool == true {
            let field = try #require(HTTPField.Name(header))
            #expect(answer.headers[field] != nil, "no \(header)", sourceLocation: sourceLocation)
        }
    }

    @Test func refusalsWithTokensAreAsDocumented() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                directory: directory, store: MemoryTaskStore(),
                settings: AccessTests.apps().merging(["http.rate.failures": ["1"]]) { $1 }
            ) { bench in
                let none = try await bench.call(.get, "/v1/rooms")
                try expectDocumented(none, 401, of: "listRooms")
                let read = AccessTests.bearer("read")
                let scope = try await bench.call(.put, "/v1/rooms/demo", "{}", headers: read)
                try expectDocumented(scope, 403, of: "putRoom")
                let app = try await bench.call(.get, "/v1/rooms?app=shop", headers: read)
                try expectDocumented(app, 403, of: "listRooms")
                let guesses = try await eventually {
                    let answer = try await bench.call(.get, "/v1/rooms", headers: AccessTests.bearer("guessed"))
                    return answer.status == 429 ? answer : nil
                }
                try expectDocumented(guesses, 429, of: "listRooms")
            }
        }
    }

    @Test func refusalsWithoutTokensAreAsDocumented() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                .live, directory: directory, store: MemoryTaskStore(), settings: ["http.rate.requests": ["1"]]
            ) { bench in
                let connection = try await RawConnection.open(try #require(bench.client.port))
                connection.send("GET /v1/rooms HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\n\r\n")
                try await eventually { connection.isClosed ? true : nil }
                let foreign = connection.text
                #expect(foreign.hasPrefix("HTTP/1.1 421 "))
                let body = foreign.firstRange(of: "\r\n\r\n").map { String(foreign[$0.upperBound...]) } ?? ""
                try expectDocumented(Answer(status: 421, headers: [:], text: body), 421, of: "listRooms")
                let page = try await bench.call(
                    .put, "/v1/rooms/demo", "{}", headers: [.origin: "https://page.example"])
                try expectDocumented(page, 403, of: "putRoom")
                let often = try await eventually {
                    let answer = try await bench.call(.get, "/healthz")
                    return answer.status == 429 ? answer : nil
                }
                try expectDocumented(often, 429, of: "getHealth")
                let long = try await bench.call(.get, "/v1/rooms/" + String(repeating: "a", count: 70_000))
                try expectDocumented(long, 431, of: "getRoom")
            }
        }
    }

    // MARK: Examples of all operations

    @Test func everyOperationAnswersItsExamplesAsDocumented() async throws {
        let document = try OpenAPIDocument()
        var count = 0
        var reads: [(OpenAPIRequest, OpenAPIDocument.Operation)] = []
        for operation in document.operations {
            for request in try OpenAPIRequest.all(of: operation, in: document) {
                count += 1
                if Self.onlyReads(operation) {
                    reads.append((request, operation))
                } else {
                    try await withService(for: operation) { bench in
                        try await self.drive(request, operation, document, bench)
                    }
                }
            }
        }
        #expect(count >= 40 && reads.count >= 20)
        // Requests that change nothing share one service.
        try await withService(for: nil) { [reads] bench in
            for (request, operation) in reads { try await drive(request, operation, document, bench) }
        }
    }

    /// Operations that answer until the program ends.
    private static let playing = ["watch", "watchOfApp", "followMessages"]

    private static func onlyReads(_ operation: OpenAPIDocument.Operation) -> Bool {
        ["GET", "HEAD", "OPTIONS"].contains(operation.method) && !(playing + ["followRoom"]).contains(operation.id)
            && !usesWebRTC(operation)
    }

    private static func usesWebRTC(_ operation: OpenAPIDocument.Operation) -> Bool {
        operation.path.contains("whip") || operation.path.contains("whep")
    }

    /// Runs a service in the state that the examples assume.
    private func withService(
        for operation: OpenAPIDocument.Operation?, _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            try OpenAPIRequest.fillDirectory(directory)
            // Programs bypass the HTTP encoder, which needs a real connection.
            try await withOrchestrator(
                Self.playing.contains(operation?.id ?? "") ? .ahc(.http) : .router, directory: directory,
                store: OpenAPIRequest.filledStore(),
                settings: operation.map(Self.usesWebRTC) == true
                    ? OpenAPIRequest.settings.merging(ScriptedWHIPWorker.settings(in: directory)) { $1 }
                    : OpenAPIRequest.settings,
                previews: ScriptedPreviewMaker()
            ) { bench in
                try await OpenAPIRequest.prepare(bench)
                for relay in bench.relays.started {
                    for source in [nil, "alice/camera"] as [SourceID?] { relay.setPreview([1], of: source) }
                }
                try await body(bench)
            }
        }
    }

    private func drive(
        _ request: OpenAPIRequest, _ operation: OpenAPIDocument.Operation, _ document: OpenAPIDocument, _ bench: Bench
    ) async throws {
        let name: Comment = "\(operation.testDescription) \(request.name)"
        let request = try await request.signed(for: operation).inSession(of: bench, operation)
        async let watching: Void = OpenAPIRequest.end(operation.id, of: bench)
        let answer = try await bench.call(
            .init(operation.method) ?? .get, request.uri, request.body, headers: request.headers)
        try await watching
        // Some methods exist only to be refused.
        let isRefusedAlways = operation.responses.keys.allSatisfy { !$0.hasPrefix("2") }
        #expect((200..<300).contains(answer.status) != isRefusedAlways, "\(name): \(answer.text)")
        guard let response = operation.responses["\(answer.status)"] else {
            Issue.record("\(name): \(answer.status) is not documented")
            return
        }
        let content = response["content"] as? [String: [String: Any]] ?? [:]
        for (header, rule) in response["headers"] as? [String: [String: Any]] ?? [:] {
            guard document.resolved(rule)["required"] as? Bool == true else { continue }
            let field = try #require(HTTPField.Name(header))
            #expect(answer.headers[field] != nil, "\(name): no \(header)")
        }
        #expect(answer.headers[RequestIDHeader.name] != nil)
        guard !content.isEmpty else {
            #expect(answer.text.isEmpty, "\(name)")
            return
        }
        let type = answer.headers[.contentType]?.split(separator: ";").first.map(String.init) ?? "none"
        let media = try #require(content[type], "\(name): \(type) is not documented")
        guard type.hasSuffix("json") else { return }
        let value = try #require(try Yams.load(yaml: answer.text))
        #expect(document.schema(media["schema"]).faults(of: value) == [], name)
    }
}
