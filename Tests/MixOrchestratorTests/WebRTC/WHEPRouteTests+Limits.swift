import HTTPTypes
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// The places for viewers over WebRTC, and their division among apps.
extension WHEPRouteTests {
    @Test func placesAreLimited() async throws {
        try await withWHEP(["webrtc.maxViewers": ["2"], "playback.maxViewersPerProgram": ["1"]]) { bench in
            #expect(try await Self.watch(bench).status == 201)
            let second = try await Self.watch(bench)
            #expect(second.status == 503)
            #expect(try second.value("detail")?.contains("playback.maxViewersPerProgram") == true)
            try await bench.publishToIngest("bob")
            #expect(try await Self.watch(bench, "/whep/demo/bob").status == 201)
            let third = try await Self.watch(bench, "/whep/demo/bob")
            #expect(third.status == 503)
            #expect(try third.value("detail")?.contains("webrtc.maxViewers") == true)
        }
    }

    /// Half of the places are kept, the same number for each app.
    @Test func anAppLeavesOthersTheirPlaces() async throws {
        try await withWHEP(["webrtc.maxViewers": ["4"], "apps.0.id": ["shop"]]) { bench in
            for _ in 0..<3 { #expect(try await Self.watch(bench).status == 201) }
            let fourth = try await Self.watch(bench)
            #expect(fourth.status == 503 && fourth.headers[.retryAfter] == "10", "\(fourth.text)")
            let words = try #require(try fourth.value("detail"))
            #expect(words.hasPrefix("the app default has 3 of the 4 places"), "\(words)")
            #expect(words.contains("webrtc.maxViewers"), "\(words)")
            try await bench.publishToIngest("bob", app: "shop")
            #expect(try await Self.watch(bench, "/whep/shop/demo/bob").status == 201)
            #expect(try await Self.watch(bench, "/whep/shop/demo/bob").status == 503)
        }
    }

    /// One app's viewers cannot take the places of another one's.
    @Test func streamsOfOtherServersAreLimited() async throws {
        try await withWHEP(["apps.0.id": ["shop"]]) { bench in
            let limit = WebRTCViewerLimits().pullsPerApp
            for number in 0...limit {
                try await Self.publish("guest\(number)", at: "rtmp://127.0.0.1/live/\(number)", to: bench)
            }
            for number in 0..<limit {
                let answer = try await Self.watch(bench, "/whep/demo/guest\(number)")
                #expect(answer.status == 201, "\(number): \(answer.text)")
            }
            let refused = try await Self.watch(bench, "/whep/demo/guest\(limit)")
            #expect(refused.status == 503 && refused.headers[.retryAfter] == "10", "\(refused.text)")
            let words = try #require(try refused.value("detail"))
            #expect(words.hasPrefix("viewers of the app default may play \(limit) at a time"), "\(words)")
            #expect(words.contains("webrtc.maxPullsPerApp"), "\(words)")
            // Streams that are there already, and those of the ingest, are played.
            #expect(try await Self.watch(bench, "/whep/demo/guest0").status == 201)
            try await bench.publishToIngest("bob")
            #expect(try await Self.watch(bench, "/whep/demo/bob").status == 201)
            // Another app has its own number of streams.
            let event = #"{"type":"stream.published","user":"eve","url":"rtmp://127.0.0.1/live/eve"}"#
            let told = try await bench.call(.post, "/v1/rooms/demo/events?app=shop", event)
            #expect(told.status == 202, "\(told.text)")
            let other = try await Self.watch(bench, "/whep/shop/demo/eve")
            #expect(other.status == 201, "\(other.text)")
        }
    }
}
