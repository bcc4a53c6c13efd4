import MixModel

/// Tracks the files that a program's mixers play while no participant can be shown. Pure.
///
/// A file that crashes mixers must not crash one after another: after the first crash the list continues with the next
/// item, and an item that was playing when two mixers ended is skipped until the list changes.
public struct IdlePlayback: Sendable {
    /// Number of mixer ends after which the item that was playing is skipped.
    static let mostEnds = 2

    /// The list of the plan in force; `nil` while participants are shown or there is nothing to play.
    private(set) var list: IdlePlan?
    /// Status of the playback, for operators.
    public private(set) var status: IdleStatus?
    private var item: Int?
    private var first = 0
    private var ends: [Int: Int] = [:]
    /// Whether the list has been played, or no item of it is left.
    private var isOver = false
    /// Whether the newest plan no longer contains the list.
    private var isLeaving = false

    public init() {}

    /// The playlist for mixers now; `nil` for none.
    public var playlist: MixerPlaylist? {
        guard let list, !isOver else { return nil }
        return MixerPlaylist(plan: list, first: first, skipped: skipped)
    }

    private var skipped: Set<Int> { Set(ends.filter { $0.value >= Self.mostEnds }.keys) }

    /// Accepts a new plan, and returns the plan to perform: with the slate, once the list is over.
    ///
    /// A list starts over each time the last participant has left.
    public mutating func take(_ plan: ProgramPlan) -> ProgramPlan {
        let new = plan.mode == .slate ? plan.idle : nil
        isLeaving = new == nil
        if let new, new != list {
            self = IdlePlayback()
            list = new
        }
        guard isOver, new != nil else { return plan }
        var slate = plan
        slate.idle = nil
        slate.scene = plan.scene.withoutIdleMedia
        return slate
    }

    /// Records that the program shows something else. The list is dropped if the plan no longer contains it; until then
    /// it continues, because the next participant cannot be shown yet.
    public mutating func leave() {
        if isLeaving { self = IdlePlayback() }
    }

    /// Handles a mixer's report.
    ///
    /// - Returns: Whether the list is over, so that the caller must call `take(_:)` again.
    public mutating func report(_ status: IdleStatus, item: Int) -> Bool {
        guard let list, !isOver, list.items.indices.contains(item) else { return false }
        self.status = status
        self.item = status.state == .playing ? item : nil
        isOver = status.state == .ended
        return isOver
    }

    /// Records that the mixer has ended unexpectedly.
    ///
    /// - Returns: A message for operators if an item is skipped from now on, and whether the list is over.
    public mutating func mixerEnded() -> (message: String?, isOver: Bool) {
        guard let list, !isOver, let item else { return (nil, false) }
        let name = list.items[item].name
        self.item = nil
        ends[item, default: 0] += 1
        let isLeftOut = ends[item] == Self.mostEnds
        let reason = "the mixer ended \(Self.mostEnds) times while it played it"
        let next = item + 1
        let isEmpty = skipped.count == list.items.count
        isOver = isEmpty || (next == list.items.count && !list.loops && isLeftOut)
        if isLeftOut {
            status = IdleStatus(state: isOver ? .failed : .playing, media: name, error: "\(name): \(reason)")
        }
        // Plays it once more if it is the only one left, or the last one.
        first = next < list.items.count ? next : list.loops ? 0 : item
        return (isLeftOut ? "\(name) is not played any more, because \(reason): replace it in the list" : nil, isOver)
    }
}
