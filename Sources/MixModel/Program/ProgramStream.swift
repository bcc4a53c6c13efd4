import LayoutEngine

/// A live stream of the task's room or of another one, and what of it a program takes.
struct ProgramStream: Hashable, Sendable {
    var source: RoomStream
    /// `nil` = the task's own.
    var room: RoomID?
    var tracks: SourceSelection.Tracks

    var id: SourceID {
        SourceID(user: source.user, stream: source.stream.kind, room: room, tracks: tracks)
    }
    /// Whether there is a picture, and it is taken.
    var hasVideo: Bool { source.stream.video && tracks != .audio }
    /// Whether there is sound, and it is taken.
    var hasAudio: Bool { source.stream.audio && tracks != .video }

    /// What it is pulled as.
    var planned: PlannedSource {
        PlannedSource(
            id: id, url: source.stream.url, audio: hasAudio, video: hasVideo, tracks: tracks == .all ? nil : tracks)
    }

    /// The same stream in the room's own terms, under the name that it has in this program.
    var roomStream: RoomStream {
        var stream = source
        stream.id = id
        stream.stream.audio = hasAudio
        stream.stream.video = hasVideo
        return stream
    }

    /// - Parameter isAbsent: It was announced and does not come.
    func participant(isAbsent: Bool) -> LayoutParticipant {
        LayoutParticipant(
            source: id.rawValue, user: source.user.rawValue, name: source.name, kind: source.stream.kind,
            joinOrder: source.joinOrder, hasVideo: hasVideo && !isAbsent, hasAudio: hasAudio)
    }
}

extension SourceID {
    /// One stream as it is in a program: `user/stream`, of another room `user/stream@room`, and with `#audio` or `#video`
    /// where only that track is taken. Neither names of users nor of rooms hold `/` or `#`.
    public init(user: UserID, stream: StreamKind, room: RoomID?, tracks: SourceSelection.Tracks) {
        let place = room.map { "@\($0.name)" } ?? ""
        let part = tracks == .all ? "" : "#\(tracks.rawValue)"
        self.init("\(user)/\(stream.rawValue)\(place)\(part)")
    }

    /// The stream that it is one track of; itself when it is the whole stream.
    public var whole: SourceID {
        guard let (whole, part) = rawValue.splitAtLast("#"), SourceSelection.Tracks(rawValue: String(part)) != nil
        else {
            return self
        }
        return SourceID(String(whole))
    }
}

extension SourceSelection {
    /// The streams among these that are meant: at most one with a picture and, where none is named by its kind, the user's
    /// sound beside it.
    func streams(among streams: [RoomStream]) -> [ProgramStream] {
        let own = streams.filter { $0.user == user }
        func taken(_ stream: RoomStream?) -> [ProgramStream] {
            stream.map { [ProgramStream(source: $0, room: room, tracks: tracks)] } ?? []
        }
        if let kind { return taken(own.first { $0.stream.kind == kind }) }
        let ranked = own.sorted { $0.stream.kind.rank < $1.stream.kind.rank }
        switch tracks {
        case .audio: return taken(ranked.first(where: \.stream.audio) ?? ranked.first)
        case .video: return taken(ranked.first { $0.stream.kind != .audio })
        case .all:
            guard let first = ranked.first else { return [] }
            let sound = ranked.dropFirst().first { $0.stream.kind == .audio }
            return taken(first) + taken(sound)
        }
    }
}

extension ProgramSettings {
    /// Every stream that is named.
    public var selections: [SourceSelection] {
        switch composition {
        case .automatic: []
        case .single(let selection): [selection]
        case .fixed(let fixed): (fixed.sources ?? []) + fixed.panes.compactMap(\.source)
        }
    }

    /// The rooms other than the task's own that streams are taken from.
    public var otherRooms: Set<RoomID> { Set(selections.compactMap(\.room)) }

    /// URLs of every image that is shown.
    public var images: Set<String> {
        guard case .fixed(let fixed) = composition else { return [] }
        return Set(fixed.panes.compactMap(\.placeholder) + [fixed.background?.url].compactMap(\.self))
    }

    /// What of a program's tracks there is at all.
    public var tracks: SourceSelection.Tracks {
        if encoding?.audioOnly ?? false { return .audio }
        if case .single(let selection) = composition { return selection.tracks }
        return .all
    }
}
