import MixModel
import TextFormats

/// Turns the events of media servers into events of rooms, and remembers which connection publishes each stream.
///
/// Servers without identifiers report only that a connection started or stopped publishing a name. The newest
/// connection counts: the end of an older one, which may be reported later, changes nothing. Servers reuse identifiers
/// of connections after a restart, so they are only compared with that of the stream's current connection.
///
/// Events get a source of this run and increasing sequences. A room therefore keeps their order even if its mailbox
/// receives them in a different one, and events of an earlier run, whose order is no longer known, do not block new
/// ones.
///
/// Pure: times are arguments. Holds a bounded number of streams; for a forgotten stream, every event is passed on.
package struct PublisherSessions: Sendable {
    struct Entry: Sendable {
        var subject: Subject
        var session: SessionName
        var hasEnded = false
        /// Whether the room is known to have the stream.
        var isStored = false
        /// The connection that was publishing when this one began, until its end is reported.
        var previous: SessionName?
        var beganAt: Int64
        var touched: UInt64
    }
    var entries: [UTF8Key: Entry] = [:]
    private var order = SubjectOrder()
    /// Number of reports so far.
    var counter: UInt64 = 0
    private let run: String

    /// Maximum number of streams. Beyond it, the least recently used quarter is forgotten.
    static let mostStreams = 16_384
    /// Time within which a connection that replaced another may turn out to have been refused by the media server, in
    /// ns.
    ///
    /// A server asks before it finds that the name is taken, and then reports the end of the refused connection.
    static let trial: Int64 = 5_000_000_000

    /// - Parameter run: A word that is unique to this run of the service.
    package init(run: String) { self.run = run }

    /// The treatment of an event.
    package enum Admission: Hashable, Sendable {
        case pass(RoomEvent)
        /// The room already knows it, or knows something newer.
        case drop
    }

    /// Number of streams that are currently remembered.
    var count: Int { entries.count }

    /// Decides about an event. Pass events on in the order of these calls.
    ///
    /// - Parameters:
    ///   - hook: Name of the hook.
    ///   - peer: Address of the media server. Connections of different servers are distinct.
    ///   - now: Time in ns of a monotonic clock.
    package mutating func admit(_ event: HookEvent, of hook: String, peer: String, now: Int64) -> Admission {
        guard order.admits(event, of: hook) else { return .drop }
        counter += 1
        if let session = event.session, let subject = Subject(event, hook) {
            guard admits(SessionName(session.id, peer), session.step, subject, now) else { return .drop }
            forgetSome()
        }
        return .pass(roomEvent(event, hook))
    }

    /// The result of an event that was passed on.
    package enum Settlement: Hashable, Sendable {
        case stored
        /// The publisher was refused.
        case refused
        /// The service could not store it.
        case failed
    }

    /// Records the result of an event that was passed on.
    package mutating func settle(_ event: HookEvent, of hook: String, peer: String, as settlement: Settlement) {
        guard let session = event.session, let key = Subject(event, hook)?.key, var entry = entries[key],
            entry.session.isSame(as: SessionName(session.id, peer))
        else { return }
        switch (session.step, settlement) {
        case (.begins, .stored), (.continues, .stored):
            if !entry.hasEnded { entry.isStored = true }
        case (.begins, .refused), (.begins, .failed), (.continues, .refused), (.continues, .failed):
            if let previous = entry.previous {
                (entry.session, entry.previous, entry.isStored) = (previous, nil, true)
            } else if settlement == .refused {
                // The end of the refused connection, which will still be reported, must not reach the room.
                entry.hasEnded = true
            } else if !entry.hasEnded {
                entries[key] = nil
                return
            }
        case (.ends, .stored), (.mayEnd, .stored): return
        case (.ends, _), (.mayEnd, _):
            // The next report of the end is passed on again.
            entry.hasEnded = false
        }
        entries[key] = entry
    }

    private mutating func admits(
        _ session: SessionName, _ step: HookSession.Step, _ subject: Subject, _ now: Int64
    ) -> Bool {
        let key = subject.key
        let known = entries[key]
        let isPresent = known?.session.isSame(as: session) ?? false
        let counter = counter
        func entry(hasEnded: Bool = false, previous: SessionName? = nil) -> Entry {
            Entry(
                subject: subject, session: session, hasEnded: hasEnded, previous: previous, beganAt: now,
                touched: counter)
        }
        switch step {
        case .begins:
            let previous = known.flatMap { $0.hasEnded || isPresent ? nil : $0.session }
            entries[key] = entry(previous: previous)
            return true
        case .continues:
            if let known, isPresent || !known.hasEnded {
                // A publisher that reports was not refused.
                if isPresent {
                    entries[key]?.previous = nil
                    entries[key]?.session = known.session.completed(by: session)
                }
                entries[key]?.touched = counter
                return isPresent && !known.hasEnded && !known.isStored
            }
            entries[key] = entry()
            return true
        case .ends, .mayEnd:
            guard var changed = known else {
                guard step == .ends else { return false }
                entries[key] = entry(hasEnded: true)
                return true
            }
            defer { entries[key] = changed }
            changed.touched = counter
            guard isPresent else {
                if changed.previous?.isSame(as: session) == true { changed.previous = nil }
                return false
            }
            if let previous = changed.previous, now - changed.beganAt < Self.trial {
                (changed.session, changed.previous, changed.isStored) = (previous, nil, true)
                return false
            }
            guard !changed.hasEnded else { return false }
            (changed.hasEnded, changed.previous) = (true, nil)
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
}
