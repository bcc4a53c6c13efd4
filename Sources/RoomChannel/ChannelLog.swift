import MixModel

/// A position in the log of a channel.
public struct ChannelPlace: Hashable, Codable, Sendable {
    /// Distinguishes the logs of a room: those of different nodes, and of different times.
    public var run: Int64
    /// Number of the last notice before the place.
    public var number: Int64

    public init(run: Int64, number: Int64) {
        self.run = run
        self.number = number
    }
}

/// The news for a node that mirrors a channel, from the node that has the room: notices after a place, or the whole
/// channel.
public struct ChannelBulletin: Hashable, Codable, Sendable {
    /// The place after everything in this bulletin.
    public var place: ChannelPlace
    /// The place after which the notices follow; `nil` with a snapshot.
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

/// The last notices of a channel with their numbers, for nodes that mirror it. A node that asks for older notices gets
/// a snapshot.
public struct ChannelLog: Hashable, Sendable {
    /// Maximum number of notices that are kept.
    public static let mostNotices = 256
    /// Maximum size of the notices in one bulletin, in bytes, unless the first notice alone is larger.
    public static let mostBytes = 256 << 10

    private let run: Int64
    private var last: Int64 = 0
    private var notices: [ChannelNotice] = []

    /// - Parameter run: A number that is unique among the logs of the room.
    public init(run: Int64) { self.run = run }

    public mutating func append(_ notice: ChannelNotice) {
        last += 1
        notices.append(notice)
        if notices.count > Self.mostNotices { notices.removeFirst(notices.count - Self.mostNotices) }
    }

    /// Returns the news after a place; `nil` if there are none.
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
    /// Size of the notice in bytes, as counted for the limit.
    fileprivate var weight: Int {
        switch self {
        case .message(let message): message.weight
        case .onAir(let program): program.people.reduce(128) { $0 + $1.rawValue.utf8.count }
        case .opened(let title): 128 + (title?.utf8.count ?? 0)
        case .deleted, .viewers, .ended, .closed, .rules: 128
        }
    }
}
