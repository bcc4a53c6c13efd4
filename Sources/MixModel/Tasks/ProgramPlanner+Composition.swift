import LayoutEngine

/// Programs that specify their participants individually.
extension ProgramPlanner {
    /// Returns the program of one stream, copied unless the policy forbids it.
    ///
    /// The scene bridges the stream's silences: it shows the stream over the whole canvas, a shared screen without
    /// cropping it, and the participant's card while the camera is off.
    static func single(
        _ selection: SourceSelection, for room: Room, context: PlanningContext, lastHost: UserID?
    ) -> Program {
        let tracks = room.settings.program?.tracks ?? .all
        var taken = context.streams(of: selection, in: room).first
        if tracks == .audio { taken?.tracks = .audio }
        let canvas = context.canvas(of: room, following: taken?.id).withinLimits
        var program = Program(
            mode: .slate, scene: Scene(canvas: canvas, panes: []), sources: taken.map { [$0.planned] } ?? [],
            host: taken?.source.user ?? lastHost, hostLeft: false)
        guard let taken else { return program }
        let person = taken.participant(isAbsent: false)
        if tracks != .audio {
            let pane = Pane(
                source: person.source, user: person.user, x: 0, y: 0, width: canvas.width, height: canvas.height,
                fit: person.kind == .screen ? .contain : .cover, isLive: person.hasVideo, fallback: .card,
                card: Card(name: person.name ?? person.user, user: person.user, style: .gradient))
            program.scene.panes = [pane]
        }
        if person.hasAudio { program.scene.sound = SceneSound(levels: [.init(source: person.source)]) }
        program.scene.sound.apply([taken.id: taken.source.level])
        let isCopied =
            (taken.hasVideo || tracks == .audio) && room.settings.policy.bypass == .auto && !taken.needsMix
        program.mode = isCopied ? .bypass(taken.id) : .mix(host: taken.id)
        return program
    }

    /// Returns the program of a mix with the task's own panes.
    static func fixed(
        _ composition: FixedComposition, for room: Room, context: PlanningContext, lastHost: UserID?
    ) -> Program {
        let tracks = room.settings.program?.tracks ?? .all
        var taken = composition.streams(in: room, context)
        if tracks == .audio { taken = taken.filter { $0.tracks != .video }.map { $0.taking(.audio) } }
        let participants = taken.map { $0.participant(isAbsent: context.absent.contains($0.id)) }
        let present = taken.filter { !context.absent.contains($0.id) }
        let candidates = present.isEmpty ? taken : present
        let canvas = context.canvas(
            of: room, following: followed(among: candidates.filter(\.hasVideo), host: lastHost)?.id
        ).withinLimits
        var program = Program(
            mode: .slate,
            scene: LayoutEngine.scene(
                of: tracks == .audio ? [] : composition.places(for: taken, participants, context.images),
                heard: participants,
                background: tracks == .audio ? nil : composition.background.flatMap { context.backdrop($0) },
                canvas: canvas),
            sources: taken.map(\.planned), host: lastHost, hostLeft: false)
        program.scene.sound.apply(Dictionary(taken.map { ($0.id, $0.source.level) }) { first, _ in first })
        // The pictures on the canvas come first, because their frames must not jerk.
        let shown = Set(program.scene.panes.filter(\.isLive).map(\.source))
        let followed = followed(
            among: present.filter { shown.contains($0.id.rawValue) }, candidates, host: lastHost)
        if let followed {
            program.host = followed.source.user
            program.mode = .mix(host: followed.id)
        }
        return program
    }

    private static func followed(
        among candidates: [ProgramStream]..., host: UserID?
    ) -> ProgramStream? {
        candidates.lazy.compactMap { streams in
            streams.first { $0.source.user == host && $0.room == nil } ?? streams.first { $0.source.user == host }
                ?? streams.first
        }.first
    }
}

extension FixedComposition {
    /// Returns the streams that are heard and may be seen: those selected, or all, plus those named by panes. Streams
    /// of the task's own room come first; streams of the same room are in join order.
    func streams(in room: Room, _ context: PlanningContext) -> [ProgramStream] {
        let named = panes.compactMap(\.source)
        var taken: [ProgramStream] = []
        if let sources, !sources.isEmpty {
            taken = sources.flatMap { context.streams(of: $0, in: room) }
        } else {
            taken = room.shownStreams.map { ProgramStream(source: $0, tracks: .all) }
        }
        // A pane selects a picture; the list, if there is one, determines which streams are heard.
        let known = Set(taken.map(\.unpartedID))
        taken += named.flatMap { context.streams(of: $0, in: room) }.filter { !known.contains($0.unpartedID) }
        var merged: [ProgramStream] = []
        for stream in taken {
            if let index = merged.firstIndex(where: { $0.unpartedID == stream.unpartedID }) {
                if merged[index].tracks != stream.tracks { merged[index].tracks = .all }
            } else {
                merged.append(stream)
            }
        }
        let order = merged.indices.sorted { left, right in
            let (left, right) = (merged[left].place, merged[right].place)
            return left < right
        }
        return order.map { merged[$0] }
    }

    /// Returns the place and the occupant of each pane.
    ///
    /// - Parameters:
    ///   - participants: One for each of `streams`.
    ///   - images: Paths of the available images, by URL.
    func places(
        for streams: [ProgramStream], _ participants: [LayoutParticipant], _ images: [String: String]
    ) -> [Place] {
        var waiting = streams.indices.filter { streams[$0].tracks != .audio }
        /// A participant's audio stream does not need a pane in addition to their picture.
        waiting.removeAll { index in
            streams[index].source.stream.kind == .audio
                && streams.indices.contains { other in
                    other != index && streams[other].isOfSamePerson(as: streams[index])
                        && streams[other].source.stream.kind != .audio
                }
        }
        var occupants: [Int?] = panes.map { _ in nil }
        for (pane, selection) in panes.enumerated() {
            guard let selection = selection.source else { continue }
            let candidates = waiting.filter { index in
                streams[index].room == selection.room && streams[index].source.user == selection.user
                    && (selection.kind ?? streams[index].source.stream.kind) == streams[index].source.stream.kind
            }
            let best = candidates.min {
                streams[$0].source.stream.kind.rank < streams[$1].source.stream.kind.rank
            }
            occupants[pane] = best
            waiting.removeAll { $0 == best }
        }
        for pane in panes.indices where panes[pane].source == nil && !waiting.isEmpty {
            occupants[pane] = waiting.removeFirst()
        }
        return zip(panes, occupants).map { pane, occupant in
            Place(
                area: Area(x: pane.x, y: pane.y, width: pane.width, height: pane.height), z: pane.z, fit: pane.fit,
                occupant: occupant.map { participants[$0] }, placeholder: pane.placeholder.flatMap { images[$0] })
        }
    }
}

extension PlanningContext {
    fileprivate func streams(of selection: SourceSelection, in room: Room) -> [ProgramStream] {
        selection.streams(among: selection.room.map { others[$0] ?? [] } ?? room.shownStreams)
    }

    /// Returns the backdrop; `nil` while the image is not available.
    fileprivate func backdrop(_ background: FixedBackground) -> Scene.Backdrop? {
        images[background.url].map { Scene.Backdrop(image: $0, fit: background.fit) }
    }

    /// Returns whether any stream that this room's program uses is live.
    public func hasStreams(for room: Room) -> Bool {
        switch room.settings.program?.composition ?? .automatic {
        case .automatic: room.hasShownStreams
        case .single(let selection): !streams(of: selection, in: room).isEmpty
        case .fixed(let composition): !composition.streams(in: room, self).isEmpty
        }
    }
}

extension ProgramStream {
    /// The position of a stream in the queue for a pane.
    fileprivate struct Order: Comparable {
        var room: String
        var joinOrder: Int
        var rank: Int
        var user: UserID

        static func < (left: Self, right: Self) -> Bool {
            (left.room, left.joinOrder, left.rank, left.user) < (right.room, right.joinOrder, right.rank, right.user)
        }
    }

    fileprivate var place: Order {
        Order(
            room: room?.rawValue ?? "", joinOrder: source.joinOrder, rank: source.stream.kind.rank, user: source.user)
    }

    /// Identifier of the whole stream, whichever of its tracks are used.
    fileprivate var unpartedID: SourceID {
        SourceID(user: source.user, stream: source.stream.kind, room: room, tracks: .all)
    }

    fileprivate func isOfSamePerson(as other: ProgramStream) -> Bool {
        room == other.room && source.user == other.source.user
    }

    func taking(_ tracks: SourceSelection.Tracks) -> ProgramStream {
        var stream = self
        stream.tracks = tracks
        return stream
    }
}
