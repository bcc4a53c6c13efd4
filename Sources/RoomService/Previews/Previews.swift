import Crypto
import EventSubscription
import MixModel

/// Small pictures of programs and participants, and their loudness. Made on request, at most once per interval, and
/// kept in memory. Thread-safe.
package final class Previews: Sendable {
    package struct Settings: Hashable, Sendable {
        /// Seconds for which a picture is reused, 1…3600.
        package var interval = 5
        /// Longer side of a picture in pixels, 64…1280.
        package var size = 320

        package static let intervals = 0...3600
        package static let sizes = 64...1280

        package init(interval: Int = 5, size: Int = 320) {
            self.interval = interval
            self.size = size
        }
    }

    /// A picture as JPEG.
    package struct Picture: Hashable, Sendable {
        package var jpeg: [UInt8]
        /// Digest of the keyframe that the picture shows, so that no keyframe is decoded twice.
        var keyframe: SHA256.Digest
    }

    /// Loudness of the program, or of a source.
    package struct Level: Hashable, Sendable {
        /// The source; `nil` for the program.
        package var source: SourceID?
        /// The measured level; `nil` without sound.
        package var level: SoundLevel?
    }

    package let settings: Settings
    private let sockets: RelaySockets
    private let maker: any PreviewMaking
    private let pictures: PreviewShelf<Picture>
    private let levels: PreviewShelf<[Level]>

    /// Time for which levels are reused.
    package static let levelInterval = Duration.seconds(1)
    /// Maximum number of sources whose loudness is measured for one answer.
    static let mostLevels = 64
    private static let most = 256
    private static let relayLimit = Duration.seconds(3)

    package init(settings: Settings, sockets: RelaySockets, maker: any PreviewMaking) {
        self.settings = settings
        self.sockets = sockets
        self.maker = maker
        pictures = PreviewShelf(most: Self.most, interval: .seconds(settings.interval))
        levels = PreviewShelf(most: Self.most, interval: Self.levelInterval)
    }

    /// Returns the picture of the program.
    package func program(of task: OwnedTask) async throws(OrchestratorError) -> Picture {
        try Self.checkOnAir(task)
        guard task.machine.document.plan?.tracks != .audio else {
            throw .noPicture("the program of \(task.id.name) has no video")
        }
        return try await picture(of: nil, task.id)
    }

    /// Returns the picture of a participant.
    package func participant(
        _ user: UserID, of task: OwnedTask, in room: Room
    ) async throws(OrchestratorError) -> Picture {
        let sources = (task.machine.document.plan?.sources ?? []).filter { $0.id.isOf(user) }
        guard !sources.isEmpty || room.participant(user) != nil else {
            throw .notFound(
                "participant", user.rawValue, cure: "GET /v1/rooms/\(room.id.name) lists those who are in the room")
        }
        guard !room.isHidden(user) else { throw .noPicture("\(user) is hidden, and is not pulled") }
        try Self.checkOnAir(task)
        guard let source = sources.first(where: \.video) else {
            throw .noPicture("\(user) has no stream with video in the program of \(task.id.name)")
        }
        return try await picture(of: source.id, task.id)
    }

    /// Returns the picture of a stream of the room, from any of its tasks that receives the stream.
    package func stream(_ names: StreamNames, in state: RoomState) async throws(OrchestratorError) -> Picture {
        guard !state.room.document.isHidden(names.user) else {
            throw .noPicture("\(names.user) is hidden, and is not pulled")
        }
        let source = SourceID(user: names.user, stream: names.stream)
        let task = state.tasks.first { task in
            task.status?.onAir != nil
                && task.machine.document.plan?.sources.contains { $0.id == source && $0.video } == true
        }
        guard let task else { throw .noPicture("no program that is on air has video of \(source)") }
        return try await picture(of: source, task.id)
    }

    /// Returns the recent loudness of the program and its sources.
    package func levels(of task: OwnedTask) async throws(OrchestratorError) -> [Level] {
        try Self.checkOnAir(task)
        let sources = (task.machine.document.plan?.sources ?? []).map(\.id).prefix(Self.mostLevels)
        return try await levels.value(of: PreviewKey(task: task.id)) { () async throws(OrchestratorError) in
            let wanted: [SourceID?] = [nil] + sources.map { $0 }
            let streams = try await self.streams(wanted.map { ($0, false) }, of: task.id)
            var levels: [Level] = []
            for (source, flv) in zip(wanted, streams) {
                let answer = flv.isEmpty ? nil : try await self.maker.answer(PreviewRequest(side: 0, flv: flv))
                levels.append(Level(source: source, level: answer?.level))
            }
            return levels
        }
    }

    private func picture(of source: SourceID?, _ task: TaskID) async throws(OrchestratorError) -> Picture {
        let key = PreviewKey(task: task, source: source)
        return try await pictures.value(of: key) { () async throws(OrchestratorError) in
            let flv = try await self.streams([(source, true)], of: task).first ?? []
            guard !flv.isEmpty else { throw .noPreviewNow("no picture of it has arrived yet") }
            let keyframe = SHA256.hash(data: flv)
            if let last = self.pictures.last(of: key), last.keyframe == keyframe { return last }
            let answer = try await self.maker.answer(PreviewRequest(side: self.settings.size, flv: flv))
            guard !answer.jpeg.isEmpty else {
                throw .noPreviewNow(Redaction.text(answer.failure ?? "it cannot be decoded"))
            }
            return Picture(jpeg: answer.jpeg, keyframe: keyframe)
        }
    }

    private func streams(
        _ wanted: [(source: SourceID?, picture: Bool)], of task: TaskID
    ) async throws(OrchestratorError) -> [[UInt8]] {
        do {
            let connection = try await RelayConnection.open(path: sockets.path(of: task))
            return try await connection.previews(wanted, within: Self.relayLimit)
        } catch let error as RelayError {
            throw .noPreviewNow("the relay of \(task.name): \(error)")
        } catch {
            throw .noPreviewNow("the relay of \(task.name) does not answer")
        }
    }

    private static func checkOnAir(_ task: OwnedTask) throws(OrchestratorError) {
        guard task.status?.onAir != nil, task.machine.document.plan != nil else {
            throw OrchestratorError(
                .conflict, "task-not-on-air", "The task is not on air",
                detail: "\(task.id.name) has nothing to show until it is: "
                    + "GET /v1/tasks/\(task.id.name) says why it waits")
        }
    }
}

extension SourceID {
    /// Returns whether the source is a stream of this user, in any room.
    func isOf(_ user: UserID) -> Bool { rawValue.utf8.starts(with: Array("\(user)/".utf8)) }
}

extension OrchestratorError {
    fileprivate static func noPicture(_ detail: String) -> OrchestratorError {
        OrchestratorError(.conflict, "no-picture", "There is no picture to show", detail: detail)
    }
}
