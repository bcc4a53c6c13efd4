import TestSupport
import Testing

extension WCSTests {
    @Test func aMixerHasEachStreamOnce() async throws {
        try await WCSStage.run { stage in
            let startup = #"{"uri":"mixer://m1","localStreamName":"mixed"}"#
            #expect(try await stage.rest("/rest-api/mixer/startup", startup) == "200")
            _ = try await stage.rest(
                "/v1/rooms/lobby/events", #"{"type":"stream.published","user":"bob","url":"rtmp://127.0.0.1/live/bob"}"#
            )
            let twice = #"{"uri":"mixer://m1","streams":["bob#lobby","bob#lobby"]}"#
            #expect(try await stage.rest("/rest-api/mixer/add", twice) == "200")
            let list = try await stage.rest("/rest-api/mixer/find_all", "")
            #expect(list.matches(of: /bob#lobby/).count == 1, "\(list)")
            // The stream that is not in the mixer is named.
            let other = #"{"uri":"mixer://m1","streams":["bob#lobby","zoe#lobby"]}"#
            let refusal = try await stage.rest("/rest-api/mixer/remove", other)
            #expect(refusal.hasSuffix("404") && refusal.contains("zoe#lobby"), "\(refusal)")
        }
    }
}
