import EncodedMedia
import LayoutEngine
import MixModel
import ProgramSplicer

/// The slate of a relay, from its mixer and then repeated without one.
struct RepeatedSlate {
    /// Time for which a slate has to stand still before it is recorded. Longer than any transition or fade.
    static let stillness = MediaTime.seconds(3)
    /// Time from the start of a mixer that takes over to its first frame.
    static let takeover = MediaTime.milliseconds(300)
    /// Time after which a mixer that does not take over is given another moment.
    static let patience = MediaTime.milliseconds(500)

    /// What the recorded group shows.
    struct Content: Hashable {
        var scene: Scene
        var tracks: SourceSelection.Tracks?
        var encoding: EncodingSettings?
    }

    /// The group on air; `nil` while a mixer makes the slate, or nobody does.
    private(set) var group: RepeatedGroup?
    /// The feed of the mixer that made the group, which the program still calls it by.
    private(set) var feed: SpliceInput?
    private(set) var content: Content?
    private var recorder = GroupRecorder()
    private var since = MediaTime.zero

    /// Notes what a mixer on air shows; `nil` if it is no slate that stands still.
    mutating func note(_ content: Content?, now: MediaTime) {
        guard group == nil, content != self.content else { return }
        self.content = content
        since = now
        recorder = GroupRecorder()
    }

    /// Takes a picture of the mixer on air.
    /// - Returns: Whether the group begins here, in place of the picture.
    mutating func take(_ picture: EncodedFrame, of feed: SpliceInput, silence: [UInt8]?, now: MediaTime) -> Bool {
        guard group == nil, content != nil, now - since >= Self.stillness,
            let group = recorder.take(picture, silence: silence)
        else { return false }
        self.group = group
        self.feed = feed
        return true
    }

    /// Returns the frames that are due.
    mutating func frames(until now: MediaTime, sound: (next: MediaTime, frame: MediaTime)?) -> [EncodedFrame] {
        group?.take(until: now, sound: sound) ?? []
    }

    /// Begins the group anew with the next picture, for a viewer who needs a keyframe.
    mutating func requestKeyframe() { group?.requestKeyframe() }

    /// Ends the group before `time`.
    mutating func end(at time: MediaTime?) { group?.end = time }

    /// Forgets the group: another feed is on air.
    mutating func finish() { self = RepeatedSlate() }
}

extension Scene {
    /// Whether nothing moves in the picture.
    var isStill: Bool {
        panes.isEmpty && overlays.allSatisfy { !$0.content.showsTime }
    }
}
