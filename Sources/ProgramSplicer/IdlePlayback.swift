import MixModel

/// Follows what a program's mixers play while no participant can be shown. Pure.
///
/// A file that ends mixers must not end one after the other: after the first end the list goes on with the next item, and
/// an item that was played when two mixers ended is left out until the list changes.
public struct IdlePlayback: Sendable {
    /// Ends of a mixer after which the item that it played is left out.
    static let mostEnds = 2

    /// The list of the plan in force; `nil` while participants are shown or nothing is to be played.
    private(set) var list: IdlePlan?
    /// What is played, for people.
    public private(set) var status: IdleStatus?
    private var item: Int?
    private var first = 0
    private var ends: [Int: Int] = [:]
    /// Whether the list has been played, or nothing of it is left.
    private var isOver = false
    /// Whether the newest plan does not have the list.
    private var isLeaving = false

    public init() {}

    /// What mixers are to play now; `nil` for nothing.
    public var playlist: MixerPlaylist? {
        guard let list, !isOver else { return nil }
        return MixerPlaylist(plan: list, first: first, skipped: skipped)
    }

    private var skipped: Set<Int> { Set(ends.filter { $0.value >= Self.mostEnds }.keys) }

    /// Takes a new plan, and returns it as it is to be performed: with the slate, once the list is over.
    ///
    /// A list begins anew each time the last participant has left.
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

    /// Notes that the program shows something else. The list is forgotten if the plan does not have it any more; until
    /// then it goes on, because the participant who follows cannot be shown yet.
    public mutating func leave() {
        if isLeaving { self = IdlePlayback() }
    }

    /// Takes a mixer's report.
    ///
    /// - Returns: Whether the list is over, so that the plan has to be taken again.
    public mutating func report(_ status: IdleStatus, item: Int) -> Bool {
        guard let list, !isOver, list.items.indices.contains(item) else { return false }
        self.status = status
        self.item = status.state == .playing ? item : nil
        isOver = status.state == .ended
        return isOver
    }

    /// Notes that the mixer has ended unexpectedly.
    ///
    /// - Returns: A message for operators if an item is left out from now on, and whether the list is over.
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
        // Once more, if it is the only one left, or the last one.
        first = next < list.items.count ? next : list.loops ? 0 : item
        return (isLeftOut ? "\(name) is not played any more, because \(reason): replace it in the list" : nil, isOver)
    }
}
