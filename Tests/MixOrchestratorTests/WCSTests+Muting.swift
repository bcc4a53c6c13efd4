import TestSupport
import Testing

extension WCSTests {
    /// Clients mute a stream as soon as they are told that it is published, before it is in the room.
    @Test func aStreamThatIsMutedEarlyIsMutedInItsRoom() async throws {
        try await WCSStage.run { stage in
            let client = try await stage.enter()
            await client.send("publishStream", WCSStage.stream("id-1", "ann#lobby", WCSStage.offer))
            #expect(try await client.next().name == "setRemoteSDP")
            #expect(try await client.status() == ["id-1", "PENDING"])
            for type in ["audioMuted", "videoMuted", "videoUnmuted"] {
                await client.send("sendStreamEvent", #"{"mediaSessionId":"id-1","type":"\#(type)"}"#)
            }
            // The answer shows that these have been read.
            await client.send("availableStream", WCSStage.stream("q", "ann#lobby"))
            #expect(try await client.next().text("status") == "false")
            _ = try await stage.rest(
                "/v1/rooms/lobby/events", #"{"type":"stream.published","user":"ann","url":"rtmp://127.0.0.1/live/ann"}"#
            )
            try await eventually {
                let found = try await stage.rest("/rest-api/stream/find", #"{"name":"ann#lobby"}"#)
                return found.contains(#""audioState":{"muted":true}"#)
                    && found.contains(#""videoState":{"muted":false}"#) ? true : nil
            }
            await client.send("sendStreamEvent", #"{"mediaSessionId":"id-1","type":"audioUnmuted"}"#)
            try await eventually {
                let found = try await stage.rest("/rest-api/stream/find", #"{"name":"ann#lobby"}"#)
                return found.contains(#""audioState":{"muted":false}"#) ? true : nil
            }
        }
    }
}
