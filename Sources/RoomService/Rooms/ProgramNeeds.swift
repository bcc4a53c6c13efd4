import MixModel
import Synchronization

/// The things outside their rooms that programs need: streams of other rooms, images and idle media. Thread-safe.
///
/// Only names are kept, so that a room that waits for another one need not be in memory. A room that changes reports it
/// here, and the registry wakes the affected rooms.
final class ProgramNeeds: Sendable {
    struct Needs: Hashable, Sendable {
        var rooms: Set<RoomID> = []
        /// URLs of images, which may contain secrets.
        var images: Set<String> = []
        /// URLs of idle media, which may contain secrets.
        var media: Set<String> = []

        var isEmpty: Bool { rooms.isEmpty && images.isEmpty && media.isEmpty }

        /// Returns whether an image or idle media are needed.
        func contains(_ name: String) -> Bool { images.contains(name) || media.contains(name) }

        /// - Parameter parameterImages: Images named by values of the layout's parameters.
        mutating func add(_ settings: RoomSettings?, parameterImages: Set<String> = []) {
            images.formUnion(parameterImages)
            media.formUnion((settings?.idle?.media ?? []).filter(IdleSettings.isURL))
            guard let program = settings?.program else { return }
            rooms.formUnion(program.otherRooms)
            images.formUnion(program.images)
        }
    }

    private struct State {
        var needs: [RoomID: Needs] = [:]
        /// Rooms that use streams of other rooms, by the room that publishes the streams.
        var watchers: [RoomID: Set<RoomID>] = [:]
        /// Rooms to wake, each with the first cause.
        var waiting: [RoomID: Cause] = [:]
        /// The last failures of needed images and media, for the timelines of tasks that start later.
        var failures: [String: TimelineEntry] = [:]

        func rooms(showing name: String) -> Set<RoomID> {
            Set(needs.filter { $0.value.contains(name) }.keys)
        }

        func isNeeded(_ name: String) -> Bool { needs.values.contains { $0.contains(name) } }
    }
    private let state = Mutex(State())
    /// Yields when rooms wait to be woken.
    let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation
    /// Yields when the needed images have changed.
    let imageNews: AsyncStream<Void>
    private let imageNewsman: AsyncStream<Void>.Continuation
    /// Yields when the needed idle media have changed.
    let mediaNews: AsyncStream<Void>
    private let mediaNewsman: AsyncStream<Void>.Continuation

    init() {
        (mediaNews, mediaNewsman) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (imageNews, imageNewsman) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Sets the needs of a room's programs.
    func set(_ needs: Needs, of room: RoomID) {
        let (areImagesOther, areMediaOther) = state.withLock { state in
            let before = state.needs[room] ?? Needs()
            guard before != needs else { return (false, false) }
            state.needs[room] = needs.isEmpty ? nil : needs
            for other in before.rooms.subtracting(needs.rooms) {
                state.watchers[other]?.remove(room)
                if state.watchers[other]?.isEmpty ?? false { state.watchers[other] = nil }
            }
            for other in needs.rooms { state.watchers[other, default: []].insert(room) }
            for name in state.failures.keys where before.contains(name) && !state.isNeeded(name) {
                state.failures[name] = nil
            }
            return (before.images != needs.images, before.media != needs.media)
        }
        if areImagesOther { imageNewsman.yield() }
        if areMediaOther { mediaNewsman.yield() }
    }

    func isWatched(_ room: RoomID) -> Bool { state.withLock { !$0.watchers.isEmpty && $0.watchers[room] != nil } }

    /// Wakes the rooms that use streams of this one. Call when a change of its participants is stored.
    func changed(_ room: RoomID, cause: Cause) {
        wake(state.withLock { $0.watchers[room] ?? [] }, cause)
    }

    /// Wakes the rooms whose programs show a changed image, or play changed media.
    func imageChanged(_ image: String, cause: Cause) {
        let rooms = state.withLock { state in
            state.failures[image] = nil
            return state.rooms(showing: image)
        }
        wake(rooms, cause)
    }

    func rooms(showing image: String) -> Set<RoomID> { state.withLock { $0.rooms(showing: image) } }

    /// Keeps the failure of an image or of idle media, until it can be shown or is no longer needed.
    func failed(_ image: String, _ entry: TimelineEntry) {
        state.withLock { state in
            if state.isNeeded(image) { state.failures[image] = entry }
        }
    }

    /// Returns the failures of images and media that a room's programs need, by image or medium.
    func failures(of room: RoomID) -> [String: TimelineEntry] {
        state.withLock { state in
            guard !state.failures.isEmpty, let needs = state.needs[room] else { return [:] }
            return state.failures.filter { needs.contains($0.key) }
        }
    }

    var media: Set<String> {
        state.withLock { $0.needs.values.reduce(into: []) { $0.formUnion($1.media) } }
    }

    var images: Set<String> {
        state.withLock { $0.needs.values.reduce(into: []) { $0.formUnion($1.images) } }
    }

    private func wake(_ rooms: Set<RoomID>, _ cause: Cause) {
        guard !rooms.isEmpty else { return }
        state.withLock { state in
            for room in rooms where state.waiting[room] == nil { state.waiting[room] = cause }
        }
        wakeUp.yield()
    }

    /// Removes and returns the rooms that wait to be woken, ordered by identifier.
    func takeWaiting() -> [(room: RoomID, cause: Cause)] {
        state.withLock { state in
            defer { state.waiting = [:] }
            return state.waiting.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        }
    }
}
