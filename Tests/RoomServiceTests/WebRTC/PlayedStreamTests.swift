import EventSubscription
import MixModel
import Testing

@testable import RoomService

/// The names that workers of viewers keep for the next run of the service.
@Suite struct PlayedStreamTests {
    private static let url = "rtmp://media.example/live/a?key=secret"
    private static let key = IngestStreamKey(
        StreamNames(room: RoomID(app: AppID("shop"), name: "a b"), user: UserID("ü/1"), stream: .screen))

    @Test func textsAreReadAsWritten() {
        let mark = PlayedStream.mark(of: Self.url)
        let streams: [PlayedStream] = [
            .program(TaskID("auto-demo")), .publisher(Self.key), .server(Self.key, mark: mark),
        ]
        for stream in streams { #expect(PlayedStream(stream.text) == stream) }
        #expect(streams.map(\.roomAtServer) == [nil, nil, Self.key.names.room])
        #expect(streams.dropFirst().allSatisfy { $0.app == AppID("shop") })
    }

    @Test func aStreamElsewhereIsAnotherOne() {
        let mark = PlayedStream.mark(of: Self.url)
        #expect(mark.utf8.count == 32 && mark == PlayedStream.mark(of: Self.url))
        #expect(PlayedStream.mark(of: Self.url + "2") != mark)
    }

    @Test func otherTextsAreNotRead() {
        for text in ["server", "server ", "server a", "server a b", "publisher ", "other x", ""] {
            #expect(PlayedStream(text) == nil, "\(text)")
        }
    }
}
