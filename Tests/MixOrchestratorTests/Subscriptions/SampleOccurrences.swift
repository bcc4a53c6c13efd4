import LayoutEngine
import MixModel

@testable import RoomService

/// An occurrence of each kind.
enum SampleOccurrences {
    static let all: [Occurrence] = kinds.map { Occurrence(room: "shop/demo", at: 1_609_854_786.25, kind: $0) }

    static let alice = Occurrence.Person(
        Participant(
            user: "alice", name: "Alice", role: .host, joinOrder: 3, joinedExplicitly: true,
            streams: [
                LiveStream(kind: .camera, url: "rtmp://127.0.0.1/secret", audio: true, video: true, publishOrder: 0)
            ]))
    static let viewer = Occurrence.Person(Participant(user: "vera", joinOrder: 4, joinedExplicitly: true))
    static let camera = Occurrence.Stream(
        LiveStream(kind: .camera, url: "rtmp://127.0.0.1/secret", audio: true, video: false, publishOrder: 0))
    static let output = "rtmp://cdn.example/live/key?auth=1"

    private static let services: ServiceStates = {
        var states = ServiceStates()
        states["rtmp"] = ServiceState(running: true, error: .init(code: "publish_refused", message: "output cdn: no"))
        return states
    }()

    private static let kinds: [Occurrence.Kind] =
        [
            .roomOpened, .roomClosed,
            .roomServicesChanged(services),
            .participantJoined(alice), .participantLeft(viewer),
            .participantRoleChanged(alice, from: .guest), .streamPublished(alice, camera),
            .streamUpdated(alice, camera),
            .participantControlChanged(ParticipantControl(user: "alice", muted: true, gain: 150, hidden: false)),
            .streamUnpublished(alice, camera),
            .taskStateChanged("shop/auto-demo", .stopped, from: .running, reason: .idle, error: nil),
            .taskSwitched(
                "shop/auto-demo",
                SwitchRecord(
                    at: .zero, from: .bypass, to: .mix, source: nil, cause: "stream.published bob/camera",
                    latencyMs: 180.5,
                    videoGapMs: 50, audioGapMs: nil, wallClock: 1_609_854_786)),
            .layoutFailed("shop/auto-demo", layout: "mine", message: "layout mine has errors: version 3 stays in use"),
            .channelMessage(
                ChannelMessage(
                    id: 7, kind: .gift, user: "vera", name: "Vera", text: "for you", count: 2,
                    gift: ChannelGift(["id": .text("rose"), "price": .number(3)]), sentAt: 1_609_854_786_250)),
            .channelMessageDeleted(id: 7),
            .test,
        ]
        + OutputChange.State.allCases.map {
            .outputStateChanged(
                "shop/auto-demo",
                OutputChange(
                    output: "cdn", state: $0, from: .live, reconnects: 2, error: "lost \(output)",
                    errorCode: .connectionLost),
                url: output)
        }
}
