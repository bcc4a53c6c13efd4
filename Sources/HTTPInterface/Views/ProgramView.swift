import EventSubscription
import LayoutEngine
import MixModel
import RoomService

/// The `program` part of settings as the API shows it. URLs are redacted.
struct ProgramView: Encodable {
    struct Source: Encodable {
        /// The room of the stream. Absent for the task's own room.
        var room: String?
        var user: UserID
        var stream: StreamKind?
        var tracks: SourceSelection.Tracks
    }
    struct FixedPane: Encodable {
        var x: UnitFraction
        var y: UnitFraction
        var width: UnitFraction
        var height: UnitFraction
        var z: Int
        var fit: Pane.Fit
        var source: Source?
        var placeholder: String?
    }
    struct Background: Encodable {
        var image: String
        var fit: Pane.Fit
    }
    struct Composition: Encodable {
        /// `automatic`, `single` or `fixed`.
        var mode: String
        var source: Source?
        var sources: [Source]?
        var panes: [FixedPane]?
        var background: Background?
    }
    struct Messages: Encodable {
        struct PassThrough: Encodable {
            var key: String
            var content: String
            var intervalMs: Int
            var followIdr: Bool
        }
        struct Timing: Encodable {
            /// Interval between messages, in ms. 0 means only with IDR frames.
            var intervalMs: Int
            var followIdr: Bool
        }
        var payloadType: Int
        var layoutVolume: Timing?
        var wallClock: Timing?
        var passThrough: PassThrough?
        var custom: String?
    }

    var composition: Composition
    var encoding: EncodingSettings?
    var sei: Messages?

    init(_ settings: ProgramSettings) {
        composition = Composition(settings.composition)
        encoding = settings.encoding
        sei = settings.sei.map { sei in
            Messages(
                payloadType: sei.payloadType,
                layoutVolume: sei.layoutVolume.map { .init(intervalMs: $0.intervalMs ?? 0, followIdr: $0.followsIDR) },
                wallClock: sei.wallClock.map { .init(intervalMs: $0.intervalMs ?? 0, followIdr: $0.followsIDR) },
                passThrough: sei.passThrough.map {
                    .init(
                        key: $0.key, content: $0.content, intervalMs: $0.timing.intervalMs ?? 0,
                        followIdr: $0.timing.followsIDR)
                }, custom: sei.custom)
        }
    }
}

extension ProgramView.Composition {
    fileprivate init(_ composition: ProgramSettings.Composition) {
        switch composition {
        case .automatic:
            self.init(mode: "automatic")
        case .single(let selection):
            self.init(mode: "single", source: .init(selection))
        case .fixed(let fixed):
            self.init(
                mode: "fixed", sources: fixed.sources?.map { .init($0) },
                panes: fixed.panes.map { pane in
                    .init(
                        x: pane.x, y: pane.y, width: pane.width, height: pane.height, z: pane.z, fit: pane.fit,
                        source: pane.source.map { .init($0) }, placeholder: pane.placeholder.map(StreamURL.redacted))
                },
                background: fixed.background.map { .init(image: StreamURL.redacted($0.url), fit: $0.fit) })
        }
    }
}

extension ProgramView.Source {
    fileprivate init(_ selection: SourceSelection) {
        self.init(
            room: selection.room?.name, user: selection.user, stream: selection.kind, tracks: selection.tracks)
    }
}
