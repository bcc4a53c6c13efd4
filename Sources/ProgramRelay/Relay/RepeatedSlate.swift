import EncodedMedia
import LayoutEngine
import MixModel
import ProgramSplicer

/// The slate of a relay, first from its mixer, then repeated without one.
struct RepeatedSlate {
    /// Time for which a slate must be static before it is recorded. Longer than any transition or fade.
    static let stillness = MediaTime.seconds(3)
    /// Time between the start of a mixer that takes over and its first frame.
    static let takeover = MediaTime.milliseconds(300)
    /// Time after which a mixer that has not taken over gets a later takeover time.
    static let patience = MediaTime.milliseconds(500)

    /// The content of the recorded group.
    struct Content: Hashable {
        var scene: Scene
        var tracks: SourceSelection.Tracks?
        var encoding: EncodingSettings?
    }

    /// The group on air; `nil` while a mixer makes the slate, or there is no slate.
    private(set) var group: RepeatedGroup?
    /// The feed of the mixer that made the group; the program still uses it as the group's identity.
    private(set) var feed: SpliceInput?
    private(set) var content: Content?
    private var recorder = GroupRecorder()
    private var since = MediaTime.zero

    /// Records the content of the mixer on air; `nil` if it is not a static slate.
    mutating func note(_ content: Content?, now: MediaTime) {
        guard group == nil, content != self.content else { return }
        self.content = content
        since = now
        recorder = GroupRecorder()
    }

    /// Handles a picture of the mixer on air.
    /// - Returns: Whether the group begins here, instead of the picture.
    mutating func take(_ picture: EncodedFrame, of feed: SpliceInput, silence: [UInt8]?, now: MediaTime) -> Bool {
        guard group == nil, content != nil, now - since >= Self.stillness,
            let group = recorder.take(picture, silence: silence)
        else { return false }
        self.group = group
        self.feed = feed
        return true
    }

    /// Returns the due frames.
    mutating func frames(until now: MediaTime, sound: (next: MediaTime, frame: MediaTime)?) -> [EncodedFrame] {
        group?.take(until: now, sound: sound) ?? []
    }

    /// Restarts the group with the next picture, for a viewer who needs a keyframe.
    mutating func requestKeyframe() { group?.requestKeyframe() }

    /// Ends the group before `time`.
    mutating func end(at time: MediaTime?) { group?.end = time }

    /// Drops the group: another feed is on air.
    mutating func finish() { self = RepeatedSlate() }
}

extension Scene {
    /// Whether nothing moves in the picture.
    var isStill: Bool {
        panes.isEmpty && overlays.allSatisfy { !$0.content.showsTime }
    }
}
