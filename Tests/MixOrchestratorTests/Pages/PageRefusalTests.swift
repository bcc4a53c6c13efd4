import ChildProcesses
import Foundation
import HTTPTypes
import Testing

@testable import MixOrchestrator

/// Pages that cannot be shown are refused with problem details (RFC 9457), which say what to do.
@Suite(.timeLimit(.minutes(5))) struct PageRefusalTests {
    private static let page = #""user":"board","kind":"page","url":"http://127.0.0.1:8000/""#

    /// Expects that a page is refused as an event and in a list, and that nothing is left of it.
    ///
    /// - Parameters:
    ///   - settings: Settings of the service, in a directory.
    ///   - words: Text in the problem's `expected`.
    private static func expectRefusal(
        code: String, words: String, _ settings: @Sendable (String) throws -> [String: [String]]
    ) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, settings: try settings(directory)) { bench in
                let event = try await bench.call(
                    .post, "/v1/rooms/demo/events", "{\"type\":\"stream.published\",\(Self.page)}")
                let list = try await bench.call(.put, "/v1/rooms/demo/streams", "{\"streams\":[{\(Self.page)}]}")
                for answer in [event, list] {
                    #expect(answer.status == 422, "\(answer.text)")
                    #expect(answer.headers[.contentType] == "application/problem+json")
                    #expect(try answer.value("type") == "urn:mixorchestrator:problem:\(code)", "\(answer.text)")
                    #expect(try answer.value("status") == "422")
                    #expect(try answer.value("title") != nil && answer.value("detail") != nil, "\(answer.text)")
                    #expect(try answer.value("field")?.hasSuffix("url") ?? false, "\(answer.text)")
                    #expect(try answer.value("expected")?.contains(words) ?? false, "\(answer.text)")
                }
                #expect(try await bench.call(.get, "/v1/rooms/demo").status == 404)
            }
        }
    }

    @Test func pagesAreOffByDefault() async throws {
        let words = "pages.enabled: true and ingest.rtmp.listen"
        try await Self.expectRefusal(code: "pages-off", words: words) { _ in [:] }
    }

    @Test func aHostThatIsNotListedIsRefused() async throws {
        try await Self.expectRefusal(code: "url-refused", words: "sources.allow") { directory in
            try ScriptedPageWorker.settings(in: directory).merging(["sources.allow": ["https://boards.example"]]) { $1 }
        }
    }

    /// A browser must not run as root, and without its programs there is none.
    @Test(.enabled(if: geteuid() == 0 || !PagePrograms.missing.isEmpty))
    func aMachineThatCannotShowPagesSaysSo() async throws {
        let words = PagePrograms.missing.isEmpty ? "pages.user" : PagePrograms.cure
        try await Self.expectRefusal(code: "pages-unavailable", words: words) { directory in
            try ScriptedPageWorker.settings(in: directory).merging(["pages.sandbox": ["on"]]) { $1 }
        }
    }
}
