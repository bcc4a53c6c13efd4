import Foundation
import HTTPTypes
import TaskStore
import Testing
import Yams

@testable import MixOrchestrator

/// The document says what the service does, and the service does what the document says.
@Suite struct OpenAPITests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../..").standardizedFileURL

    /// `METHOD /path` with parameters as `{}`.
    private static func documented() throws -> Set<String> {
        let text = try String(contentsOf: root.appendingPathComponent("openapi.yaml"), encoding: .utf8)
        let document = try #require(try Yams.load(yaml: text) as? [String: Any])
        let paths = try #require(document["paths"] as? [String: [String: Any]])
        let methods: Set<String> = ["get", "put", "post", "delete", "options", "patch", "head"]
        return Set(
            paths.flatMap { path, item in
                item.keys.filter(methods.contains).map { plain($0.uppercased(), path) }
            })
    }

    private static func plain(_ method: String, _ path: some StringProtocol) -> String {
        let names = String(path).replacing(#/\{[^}]*\}/#, with: "{}")
        return "\(method) /" + names.drop { $0 == "/" }
    }

    /// As the sources add routes.
    private static func routed() throws -> Set<String> {
        let sources = root.appendingPathComponent("Sources/MixOrchestrator")
        var routes: Set<String> = []
        for file in try FileManager.default.subpathsOfDirectory(atPath: sources.path) where file.hasSuffix(".swift") {
            let text = try String(contentsOf: sources.appendingPathComponent(file), encoding: .utf8)
            for match in text.matches(of: #/router\.(get|put|post|delete|patch)\("([^"]+)"/#) {
                routes.insert(plain(match.1.uppercased(), match.2))
            }
            for match in text.matches(of: #/router\.on\("([^"]+)", method: \.(\w+)/#) {
                routes.insert(plain(match.2.uppercased(), match.1))
            }
        }
        return routes
    }

    @Test func everyRouteIsDocumentedAndNoOther() throws {
        let (documented, routed) = (try Self.documented(), try Self.routed())
        #expect(documented.subtracting(routed) == [], "documented, and not there")
        #expect(routed.subtracting(documented) == [], "there, and not documented")
        #expect(routed.count >= 25)
    }

    @Test func theDocumentIsServed() async throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent("openapi.yaml"), encoding: .utf8)
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                let answer = try await bench.call(.get, "/openapi.yaml")
                #expect(answer.headers[.contentType] == "application/yaml")
                #expect(answer.text == text)
                #expect(try await bench.call(.get, "/healthz").text == #"{"status":"ok"}"#)
                #expect(try await bench.call(.get, "/readyz").text == #"{"status":"ok"}"#)
                await bench.store.close()
                #expect(try await bench.call(.get, "/readyz").status == 503)
                #expect(try await bench.call(.get, "/healthz").status == 200)
            }
        }
    }

    @Test func everyReferenceLeadsSomewhere() throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent("openapi.yaml"), encoding: .utf8)
        let document = try #require(try Yams.load(yaml: text) as? [String: Any])
        for match in text.matches(of: #/\$ref: "#/([^"]+)"/#) {
            var value: Any? = document
            for part in match.1.split(separator: "/") { value = (value as? [String: Any])?[String(part)] }
            #expect(value != nil, "\(match.1)")
        }
    }
}
