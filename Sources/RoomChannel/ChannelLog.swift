import MixModel

/// A place in the log of a channel.
public struct ChannelPlace: Hashable, Codable, Sendable {
    /// Tells one log of a room from the others: those of other nodes, and of other times.
    public var run: Int64
    /// Number of the last notice before the place.
    public var number: Int64

    public init(run: Int64, number: Int64) {
        self.run = run
        self.number = number
    }
}

/// What the node that has a room tells a node that mirrors its channel: notices after a place, or all of the channel.
public struct ChannelBulletin: Hashable, Codable, Sendable {
    /// The place after everything that is told here.
    public var place: ChannelPlace
    /// The place after which the notices come; `nil` with a snapshot.
    public var after: ChannelPlace?
    public var notices: [ChannelNotice]
    public var snapshot: ChannelSnapshot?

    public init(place: ChannelPlace, snapshot: ChannelSnapshot) {
        self.place = place
        self.snapshot = snapshot
        notices = []
    }

    public init(place: ChannelPlace, after: ChannelPlace, notices: [ChannelNotice]) {
        self.place = place
        self.after = after
        self.notices = notices
    }

    /// A bulletin without news.
    public init(nothingAfter place: ChannelPlace) { self.init(place: place, after: place, notices: []) }
}

/// The last notices of a channel with their numbers, which nodes that mirror it ask for. Whoever asks for older ones gets a
/// snapshot.
public struct ChannelLog: Hashable, Sendable {
    /// Most notices that are kept.
    public static let mostNotices = 256
    /// Most bytes of the notices in one bulletin, unless the first of them has more.
    public static let mostBytes = 256 << 10

    private let run: Int64
    private var last: Int64 = 0
    private var notices: [ChannelNotice] = []

    /// - Parameter run: A number that no other log of the room has.
    public init(run: Int64) { self.run = run }

    public mutating func append(_ notice: ChannelNotice) {
        last += 1
        notices.append(notice)
        if notices.count > Self.mostNotices { notices.removeFirst(notices.count - Self.mostNotices) }
    }

    /// Returns what comes after a place; `nil` if nothing does.
    ///
    /// - Parameter place: `nil` = the reader knows nothing.
    public func bulletin(
        after place: ChannelPlace?, snapshot: @autoclosure () -> ChannelSnapshot
    ) -> ChannelBulletin? {
        guard let place, place.run == run, 0...last ~= place.number, last - place.number <= Int64(notices.count) else {
            return ChannelBulletin(place: ChannelPlace(run: run, number: last), snapshot: snapshot())
        }
        var taken: [ChannelNotice] = []
        var bytes = 0
        for notice in notices.suffix(Int(last - place.number)) {
            bytes += notice.weight
            if bytes > Self.mostBytes, !taken.isEmpty { break }
            taken.append(notice)
        }
        guard !taken.isEmpty else { return nil }
        return ChannelBulletin(
            place: ChannelPlace(run: run, number: place.number + Int64(taken.count)), after: place, notices: taken)
    }
}

extension ChannelNotice {
    /// Bytes with which the notice is counted.
    fileprivate var weight: Int {
        switch self {
        case .message(let message): message.weight
        case .onAir(let program): program.people.reduce(128) { $0 + $1.rawValue.utf8.count }
        case .opened(let title): 128 + (title?.utf8.count ?? 0)
        case .deleted, .viewers, .ended, .closed, .rules: 128
        }
    }
}
