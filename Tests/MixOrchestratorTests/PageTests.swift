import Crypto
import Foundation
import HTTPTypes
import Testing

@testable import MixOrchestrator

/// The pages for people, as a browser is given them.
@Suite struct PageTests {
    @Test(arguments: ["/publish/demo", "/watch/demo"]) func aPageRunsItsOwnScriptOnly(path: String) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let page = try await bench.call(.get, path)
                #expect(page.status == 200 && page.headers[.contentType] == "text/html; charset=utf-8")
                #expect(page.headers[.xContentTypeOptions] == "nosniff")
                let policy = try #require(page.headers[.contentSecurityPolicy])
                #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
                for element in ["script", "style"] {
                    let parts = page.text.components(separatedBy: "<\(element)>")
                    #expect(parts.count == 2, "one \(element), without attributes")
                    let inside = try #require(parts.last?.components(separatedBy: "</\(element)>").first)
                    let hash = Data(SHA256.hash(data: Data(inside.utf8))).base64EncodedString()
                    #expect(policy.contains("\(element)-src 'sha256-\(hash)'"))
                }
                // What the policy would forbid.
                #expect(
                    !page.text.contains("style=") && !page.text.contains("onclick") && !page.text.contains("https://"))
                #expect(try await bench.call(.head, path).status == 200)
                #expect(try await bench.call(.post, path).status == 405)
            }
        }
    }
}
