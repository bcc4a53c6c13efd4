import MixModel
import TextFormats

/// Turns the events of media servers into events of rooms, and remembers which connection publishes each stream.
///
/// Servers without identifiers say only that a connection began or ended to publish a name. The newest connection counts:
/// the end of an older one, which may be reported later, changes nothing. Identifiers of connections begin anew when a
/// server restarts, so they are only compared with that of the stream's present connection.
///
/// Events get a source of this run and increasing sequences. A room therefore keeps their order even if its mailbox
/// receives them in another, and events of an earlier run, whose order nobody knows any more, do not hold up new ones.
///
/// Pure: times are arguments. Holds a bounded number of streams; of one that was forgotten, every event is passed on.
package struct PublisherSessions: Sendable {
    private struct Entry: Sendable {
        var session: String
        var hasEnded = false
        /// Whether the room is known to have the stream.
        var isStored = false
        /// The connection that published when this one began, until its end is reported.
        var previous: String?
        var beganAt: Int64
        var touched: UInt64
    }
    private var entries: [UTF8Key: Entry] = [:]
    private var counter: UInt64 = 0
    private let run: String

    /// Maximum number of streams. Beyond it, the quarter untouched longest is forgotten.
    static let mostStreams = 16_384
    /// Time in which a connection that replaced another may turn out to have been refused by the media server, in ns.
    ///
    /// A server asks before it finds that the name is taken, and then reports the end of the refused connection.
    static let trial: Int64 = 5_000_000_000

    /// - Parameter run: A word that no other run of the service has.
    package init(run: String) { self.run = run }

    /// What is to be done with an event.
    package enum Admission: Hashable, Sendable {
        case pass(RoomEvent)
        /// The room knows it already, or knows something newer.
        case drop
    }

    /// Number of streams remembered now.
    var count: Int { entries.count }

    /// Decides about an event. Pass events on in the order of these calls.
    ///
    /// - Parameters:
    ///   - hook: Name of the hook.
    ///   - peer: Address of the media server, whose connections are not another's.
    ///   - now: Time in ns of a monotonic clock.
    package mutating func admit(_ event: HookEvent, of hook: String, peer: String, now: Int64) -> Admission {
        counter += 1
        if let session = event.session, let key = Self.key(event, hook) {
            guard admits("\(session.id)@\(peer)", session.step, key, now) else { return .drop }
            forgetSome()
        }
        return .pass(roomEvent(event, hook))
    }

    /// What came of an event that was passed on.
    package enum Settlement: Hashable, Sendable {
        case stored
        /// The publisher was told to go.
        case refused
        /// The service could not store it.
        case failed
    }

    /// Takes note of what came of an event that was passed on.
    package mutating func settle(_ event: HookEvent, of hook: String, peer: String, as settlement: Settlement) {
        guard let session = event.session, let key = Self.key(event, hook), var entry = entries[key],
            entry.session.hasSameUTF8(as: "\(session.id)@\(peer)")
        else { return }
        switch (session.step, settlement) {
        case (.begins, .stored), (.continues, .stored):
            if !entry.hasEnded { entry.isStored = true }
        case (.begins, .refused), (.begins, .failed), (.continues, .refused), (.continues, .failed):
            if let previous = entry.previous {
                (entry.session, entry.previous, entry.isStored) = (previous, nil, true)
            } else if settlement == .refused {
                // The end of the refused connection, which is still reported, must not reach the room.
                entry.hasEnded = true
            } else if !entry.hasEnded {
                entries[key] = nil
                return
            }
        case (.ends, .stored), (.mayEnd, .stored): return
        case (.ends, _), (.mayEnd, _):
            // The next report of the end gets another chance.
            entry.hasEnded = false
        }
        entries[key] = entry
    }

    private mutating func admits(_ session: String, _ step: HookSession.Step, _ key: UTF8Key, _ now: Int64) -> Bool {
        let known = entries[key]
        let isPresent = known?.session.hasSameUTF8(as: session) ?? false
        switch step {
        case .begins:
            let previous = known.flatMap { $0.hasEnded || isPresent ? nil : $0.session }
            entries[key] = Entry(session: session, previous: previous, beganAt: now, touched: counter)
            return true
        case .continues:
            if let known, isPresent || !known.hasEnded {
                // Whoever reports was not turned away.
                if isPresent { entries[key]?.previous = nil }
                entries[key]?.touched = counter
                return isPresent && !known.hasEnded && !known.isStored
            }
            entries[key] = Entry(session: session, beganAt: now, touched: counter)
            return true
        case .ends, .mayEnd:
            guard var entry = known else {
                guard step == .ends else { return false }
                entries[key] = Entry(session: session, hasEnded: true, beganAt: now, touched: counter)
                return true
            }
            defer { entries[key] = entry }
            entry.touched = counter
            guard isPresent else {
                if entry.previous?.hasSameUTF8(as: session) == true { entry.previous = nil }
                return false
            }
            if let previous = entry.previous, now - entry.beganAt < Self.trial {
                (entry.session, entry.previous, entry.isStored) = (previous, nil, true)
                return false
            }
            guard !entry.hasEnded else { return false }
            (entry.hasEnded, entry.previous) = (true, nil)
            return true
        }
    }

    private mutating func forgetSome() {
        guard entries.count > Self.mostStreams else { return }
        let ages = entries.values.map(\.touched).sorted()
        let oldest = ages[ages.count / 4]
        entries = entries.filter { $0.value.touched > oldest }
    }

    private func roomEvent(_ event: HookEvent, _ hook: String) -> RoomEvent {
        let app = event.room.app.rawValue
        guard let id = event.id else {
            return RoomEvent(
                room: event.room, app: app, source: "/v1/hooks/\(hook)#\(run)", id: "\(counter)", sequence: counter,
                time: event.time, kind: event.kind)
        }
        return RoomEvent(
            room: event.room, app: app, source: "/v1/hooks/\(hook)", id: id, sequence: event.sequence, time: event.time,
            kind: event.kind)
    }

    /// Returns the stream that the event is about, or `nil` if it is about none.
    private static func key(_ event: HookEvent, _ hook: String) -> UTF8Key? {
        let source: SourceID
        switch event.kind {
        case .streamPublished(let publication): source = SourceID(user: publication.user, stream: publication.stream)
        case .streamUnpublished(let user, let stream, _): source = SourceID(user: user, stream: stream)
        default: return nil
        }
        // No id of a room, a user or a hook contains a space.
        return UTF8Key("\(hook) \(event.room.rawValue) \(source.rawValue)")
    }
}
