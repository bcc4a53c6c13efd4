import Foundation
import HTTPTypes
import MixModel
import TaskStore
import TestSupport
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator

/// The right to publish over WHIP.
extension WHIPRouteTests {
    @Test func tokensAndPagesAreChecked() async throws {
        let settings = AccessTests.apps().merging(["webrtc.cors": ["https://studio.example"]]) { $1 }
        try await withWHIP(settings) { bench in
            func call(_ uri: String, _ token: String?) async throws -> Answer {
                var headers = Self.sdp
                headers[.origin] = "https://studio.example"
                if let token { headers[.authorization] = AccessTests.bearer(token)[.authorization] }
                return try await bench.call(.post, uri, ScriptedWHIPWorker.offer(), headers: headers)
            }
            let none = try await call("/whip/show/alice", nil)
            #expect(none.status == 401)
            #expect(none.headers[.accessControlAllowOrigin] == "https://studio.example")
            #expect(none.headers[.wwwAuthenticate] != nil)
            #expect(try await call("/whip/show/alice", "guessed").status == 401)
            let read = try await call("/whip/show/alice", "read")
            #expect(read.status == 403)
            #expect(try read.value("expected") == "a token with the scope publish")
            #expect(try await call("/whip/shop/show/alice", "publish").status == 403)
            #expect(ScriptedWHIPWorker.told(in: bench.directory).isEmpty)

            let made = try await call("/whip/show/alice", "publish")
            #expect(made.status == 201, "\(made.text)")
            #expect(made.headers[.accessControlExposeHeaders]?.contains("Location, ETag, Link") == true)
            let session = try #require(made.headers[.location])
            for (token, status) in [("other", 404), ("read", 403), ("publish", 200)] {
                let answer = try await bench.call(.delete, session, headers: AccessTests.bearer(token))
                #expect(answer.status == status, "\(token): \(answer.text)")
            }
            #expect(try await bench.call(.delete, session).status == 401)
            // The URL need not name the app, which follows from the token.
            let other = try await call("/whip/show/alice", "other")
            #expect(other.status == 201)
            #expect(ScriptedWHIPWorker.told(in: bench.directory).joined().contains("shop"))

            for uri in ["/whip/show/alice", "/whip/shop/show/alice/screen", session] {
                let preflight = try await bench.call(.options, uri, headers: [.origin: "https://studio.example"])
                #expect(preflight.status == 204)
                #expect(preflight.headers[.accessControlAllowOrigin] == "https://studio.example")
                #expect(preflight.headers[.accessControlAllowHeaders]?.contains("If-Match") == true)
            }
            let foreign = try await bench.call(.options, "/whip/show/alice", headers: [.origin: "https://evil.example"])
            #expect(foreign.headers[.accessControlAllowOrigin] == nil)
        }
    }

    @Test func signedURLsPublishWithoutAToken() async throws {
        let key = "ingest-key-0123456789"
        try await withWHIP(["ingest.key": [key]]) { bench in
            func call(_ uri: String) async throws -> Answer {
                try await bench.call(.post, uri, ScriptedWHIPWorker.offer(), headers: Self.sdp)
            }
            let missing = try await call("/whip/show/alice")
            #expect(missing.status == 403)
            #expect(try missing.value("type") == "urn:mixorchestrator:problem:publishing-refused")
            let time = Int(Date.now.timeIntervalSince1970) + 60
            let signature = PlaybackAccess.authKey(path: "/whip/show/alice", time: time, key: key)
            let made = try await call("/whip/show/alice?auth_key=\(signature)")
            #expect(made.status == 201, "\(made.text)")
            #expect(try await call("/whip/show/bob?auth_key=\(signature)").status == 403)
            let old = PlaybackAccess.authKey(path: "/whip/show/alice", time: time - 100_000_000, key: key)
            let expired = try await call("/whip/show/alice?auth_key=\(old)")
            #expect(expired.status == 403)
            #expect(try expired.value("type") == "urn:mixorchestrator:problem:publishing-refused")
            #expect(try expired.value("detail")?.hasPrefix("the URL expired ") == true, "\(expired.text)")
            #expect(try await call("/whip/show/alice/screen?auth_key=\(signature)").status == 403)
            #expect(try await bench.call(.delete, try #require(made.headers[.location])).status == 200)
        }
    }

    /// A client can ask for the reason, so that it does not reconnect after another publisher has taken its stream.
    @Test func aClientIsToldWhyItsStreamWasNotTaken() async throws {
        try await withWHIP(AccessTests.apps()) { bench in
            for (behaviour, code, detail) in [
                (ScriptedWHIPWorker.Behaviour.replaced, "replaced", "another publisher has taken over this stream key"),
                (.denied, "refused", "the server refused to publish it: ask rtmp://"),
            ] {
                var headers = Self.sdp
                headers[.authorization] = AccessTests.bearer("publish")[.authorization]
                let made = try await bench.call(
                    .post, "/whip/show/alice", ScriptedWHIPWorker.offer(behaviour), headers: headers)
                #expect(made.status == 201, "\(made.text)")
                let session = try #require(made.headers[.location])
                try await eventually { Self.files(bench).isEmpty ? true : nil }
                for _ in 0..<2 {
                    let answer = try await bench.call(.delete, session, headers: AccessTests.bearer("publish"))
                    #expect(answer.status == 404)
                    #expect(try answer.value("type") == "urn:mixorchestrator:problem:whip-stream-\(code)")
                    #expect(try answer.value("detail")?.hasPrefix(detail) == true, "\(answer.text)")
                    #expect(!answer.text.contains("secret"))
                }
                // Other apps do not get the reason.
                let other = try await bench.call(.delete, session, headers: AccessTests.bearer("other"))
                #expect(try other.value("type") == "urn:mixorchestrator:problem:whip-session-not-found")
            }
        }
    }

    @Test func pagesOfOtherOriginsAreRefusedWithoutTokens() async throws {
        try await withWHIP { bench in
            var headers = Self.sdp
            headers[.origin] = "https://page.example"
            let answer = try await bench.call(.post, "/whip/show/alice", ScriptedWHIPWorker.offer(), headers: headers)
            #expect(answer.status == 403)
            #expect(try answer.value("type") == "urn:mixorchestrator:problem:origin-refused")
        }
    }

    @Test func withoutTheSettingItIsOff() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                let answer = try await bench.call(
                    .post, "/whip/show/alice", ScriptedWHIPWorker.offer(), headers: Self.sdp)
                #expect(answer.status == 404)
                #expect(try answer.value("detail")?.contains("webrtc.whip: on") == true)
                #expect(!FileManager.default.fileExists(atPath: directory + "/webrtc"))
            }
        }
    }
}
