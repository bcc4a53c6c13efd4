/// The streams of a room in the order in which places are assigned, and the streams among them that need a pane.
struct Roster {
    /// All streams, with one entry per source: hosts first, then users in join order, each user's camera before the
    /// screen.
    let all: [LayoutParticipant]
    /// The streams that get a pane: every stream with a picture, and for each user at most one that is shown as a card.
    let people: [LayoutParticipant]
    /// The entries of `people` that have a picture.
    let withPicture: [LayoutParticipant]
    private let withCards: Counts
    private let withoutCards: Counts

    fileprivate struct Counts {
        var hosts = 0
        var guests = 0
    }

    init(_ participants: [LayoutParticipant]) {
        var users: [String: UserRank] = [:]
        users.reserveCapacity(participants.count)
        for participant in participants {
            users[participant.user, default: UserRank(participant)].include(participant)
        }
        // Sorting indices is cheaper than moving whole participants.
        let ranks = participants.map { users[$0.user] ?? UserRank($0) }
        let order = participants.indices.sorted { left, right in
            ranks[left] != ranks[right]
                ? ranks[left] < ranks[right] : Self.precedes(participants[left], participants[right])
        }
        var sources: Set<String> = []
        sources.reserveCapacity(participants.count)
        let all = order.map { participants[$0] }.filter { sources.insert($0.source).inserted }

        var people: [LayoutParticipant] = []
        var withPicture: [LayoutParticipant] = []
        people.reserveCapacity(all.count)
        var (withCards, withoutCards) = (Counts(), Counts())
        var start = 0
        while start < all.count {
            let user = all[start].user
            let end = all[start...].firstIndex { $0.user != user } ?? all.endIndex
            let streams = all[start..<end]
            let isHost = streams.contains { $0.role == .host }
            let card = Self.card(in: streams)
            for index in streams.indices {
                let stream = streams[index]
                if stream.hasVideo { withPicture.append(stream) }
                if stream.hasVideo || index == card { people.append(stream) }
            }
            withCards.count(isHost)
            if streams.contains(where: \.hasVideo) { withoutCards.count(isHost) }
            start = end
        }
        self.all = all
        self.people = people
        self.withPicture = withPicture
        self.withCards = withCards
        self.withoutCards = withoutCards
    }

    /// Returns the stream of a user that is shown as a card: a camera that is off, unless another one is on. Without a
    /// camera it is the user's first stream, unless the user has another stream with a picture.
    private static func card(in streams: ArraySlice<LayoutParticipant>) -> Int? {
        let first = streams.startIndex
        guard streams[first].kind == .camera else {
            return streams.contains(where: \.hasVideo) ? nil : first
        }
        return streams.contains { $0.kind == .camera && $0.hasVideo } ? nil : first
    }

    func people(omittingAudioOnly: Bool) -> [LayoutParticipant] { omittingAudioOnly ? withPicture : people }

    func situation(on canvas: Canvas, omittingAudioOnly: Bool) -> Situation {
        let orientation = Orientation(width: canvas.width, height: canvas.height)
        let counts = omittingAudioOnly ? withoutCards : withCards
        return Situation(
            people: omittingAudioOnly ? withPicture.count : people.count, hosts: counts.hosts, guests: counts.guests,
            audioOnly: people.count - withPicture.count,
            hasScreen: withPicture.contains { $0.kind == .screen }, canvas: orientation,
            sources: sources(on: orientation))
    }

    private func sources(on canvas: Orientation) -> Condition.SourceShape {
        var (hasPortrait, hasLandscape) = (false, false)
        func note(_ orientation: Orientation) {
            if orientation == .portrait { hasPortrait = true } else { hasLandscape = true }
        }
        for person in withPicture {
            let own = person.pictureSize.map { Orientation(width: $0.width, height: $0.height) } ?? .square
            note(own == .square ? canvas : own)
        }
        if withPicture.isEmpty { note(canvas) }
        return hasPortrait && hasLandscape ? .mixed : hasPortrait ? .portrait : .landscape
    }
}

// MARK: - Order
extension Roster {
    /// A user's place in the order in which places are assigned.
    private struct UserRank: Comparable {
        var isHost: Bool
        var joinOrder: Int
        var user: String

        init(_ participant: LayoutParticipant) {
            isHost = participant.role == .host
            joinOrder = participant.joinOrder
            user = participant.user
        }

        mutating func include(_ other: LayoutParticipant) {
            isHost = isHost || other.role == .host
            joinOrder = min(joinOrder, other.joinOrder)
        }

        static func < (left: Self, right: Self) -> Bool {
            if left.isHost != right.isHost { return left.isHost }
            if left.joinOrder != right.joinOrder { return left.joinOrder < right.joinOrder }
            return left.user < right.user
        }
    }

    /// Returns whether the left stream of a user comes before the right one: the camera, then the screen. Names decide between
    /// equals, so that the order is deterministic.
    private static func precedes(_ left: LayoutParticipant, _ right: LayoutParticipant) -> Bool {
        if left.kind != right.kind { return left.kind.place < right.kind.place }
        if left.joinOrder != right.joinOrder { return left.joinOrder < right.joinOrder }
        return left.source < right.source
    }
}

extension Roster.Counts {
    fileprivate mutating func count(_ isHost: Bool) {
        if isHost { hosts += 1 } else { guests += 1 }
    }
}

extension LayoutParticipant.Kind {
    fileprivate var place: Int {
        switch self {
        case .camera: 0
        case .screen: 1
        case .audio: 2
        }
    }
}
