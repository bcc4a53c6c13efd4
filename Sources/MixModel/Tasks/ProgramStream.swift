import LayoutEngine

/// A live stream of the task's room or of another one, with the tracks that a program uses.
struct ProgramStream: Hashable, Sendable {
    var source: RoomStream
    /// Room of the stream; `nil` means the task's own.
    var room: RoomID?
    var tracks: SourceSelection.Tracks

    var id: SourceID {
        SourceID(user: source.user, stream: source.stream.kind, room: room, tracks: tracks)
    }
    /// Whether the stream has a picture that is used.
    var hasVideo: Bool { source.stream.video && tracks != .audio }
    /// Whether the stream has audio that is used.
    var hasAudio: Bool { source.isHeard && tracks != .video }
    /// Whether only a mix can give the stream its loudness.
    var needsMix: Bool { source.needsMix && tracks != .video }

    /// Source that a relay pulls for this stream.
    var planned: PlannedSource {
        PlannedSource(
            id: id, url: source.stream.url, audio: hasAudio, video: hasVideo, tracks: tracks == .all ? nil : tracks,
            backup: source.stream.backup, muted: source.level == 0 ? true : nil, name: source.name)
    }

    /// The stream in the room's own terms, under its identifier in this program.
    var roomStream: RoomStream {
        var stream = source
        stream.id = id
        stream.stream.audio = hasAudio
        stream.stream.video = hasVideo
        return stream
    }

    /// Returns the stream as a participant of a layout.
    ///
    /// - Parameter isAbsent: Whether the stream was announced but does not arrive.
    func participant(isAbsent: Bool) -> LayoutParticipant {
        LayoutParticipant(
            source: id.rawValue, user: source.user.rawValue, name: source.name, kind: source.stream.kind,
            joinOrder: source.joinOrder, hasVideo: hasVideo && !isAbsent, hasAudio: hasAudio)
    }
}

extension SourceID {
    /// Creates the identifier of a stream in a program: `user/stream`, with `@room` for another room, and with `#audio`
    /// or `#video` if only that track is used. Names of users and rooms contain neither `/` nor `#`.
    public init(user: UserID, stream: StreamKind, room: RoomID?, tracks: SourceSelection.Tracks) {
        let place = room.map { "@\($0.name)" } ?? ""
        let part = tracks == .all ? "" : "#\(tracks.rawValue)"
        self.init("\(user)/\(stream.rawValue)\(place)\(part)")
    }

    /// Identifier of the whole stream, if this is the identifier of a single track; otherwise the identifier itself.
    public var whole: SourceID {
        guard let (whole, part) = rawValue.splitAtLast("#"), SourceSelection.Tracks(rawValue: String(part)) != nil
        else {
            return self
        }
        return SourceID(String(whole))
    }
}

extension SourceSelection {
    /// Returns the selected streams among these: at most one with a picture and, unless the selection names a kind, the
    /// user's audio stream in addition.
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
    /// All selected streams.
    public var selections: [SourceSelection] {
        switch composition {
        case .automatic: []
        case .single(let selection): [selection]
        case .fixed(let fixed): (fixed.sources ?? []) + fixed.panes.compactMap(\.source)
        }
    }

    /// Rooms other than the task's own from which streams are used.
    public var otherRooms: Set<RoomID> { Set(selections.compactMap(\.room)) }

    /// URLs of all images that are shown.
    public var images: Set<String> {
        guard case .fixed(let fixed) = composition else { return [] }
        return Set(fixed.panes.compactMap(\.placeholder) + [fixed.background?.url].compactMap(\.self))
    }

    /// Tracks that the program has.
    public var tracks: SourceSelection.Tracks {
        if encoding?.audioOnly ?? false { return .audio }
        if case .single(let selection) = composition { return selection.tracks }
        return .all
    }
}
