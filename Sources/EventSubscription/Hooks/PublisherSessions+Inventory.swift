import MixModel
import TextFormats

/// Corrections that follow from a media server's statistics.
extension PublisherSessions {
    /// An event that a server did not report, or whose report failed. Process it like a report.
    package struct Correction: Hashable, Sendable {
        package var event: HookEvent
        /// Address of the server; empty if unknown.
        package var peer: String
    }

    /// Compares the current streams of a hook's servers with the known streams.
    ///
    /// A stream that began or ended during the query may be missing from the list, or still in it. Streams that began
    /// shortly before the query are therefore left alone until the next one, and a connection whose end was reported
    /// does not come back.
    ///
    /// - Parameters:
    ///   - listed: The publications of all servers of the hook, whose sessions have the step `continues`.
    ///   - stored: Streams that the hook brought into rooms before this run.
    ///   - askedAt: Time before the servers were queried, in ns of a monotonic clock.
    package mutating func corrections(
        listed: [HookEvent], stored: [(room: RoomID, user: UserID, stream: StreamKind)], of hook: String,
        askedAt: Int64
    ) -> [Correction] {
        var corrections: [Correction] = []
        var present: Set<UTF8Key> = []
        let stored = stored.map { Subject(hook: hook, room: $0.room, user: $0.user, stream: $0.stream) }
        let storedKeys = Set(stored.map(\.key))
        for event in listed {
            guard let subject = Subject(event, hook), let session = event.session else { continue }
            present.insert(subject.key)
            let name = SessionName(session.id, "")
            guard let entry = entries[subject.key] else {
                if storedKeys.contains(subject.key) {
                    entries[subject.key] = Entry(
                        subject: subject, session: name, isStored: true, beganAt: askedAt, touched: counter)
                } else {
                    corrections.append(Correction(event: event, peer: ""))
                }
                continue
            }
            switch (entry.hasEnded, entry.session.isSame(as: name)) {
            case (true, true): break
            case (true, false): corrections.append(Correction(event: event, peer: ""))
            case (false, true):
                if !entry.isStored { corrections.append(Correction(event: event, peer: entry.session.peer ?? "")) }
            case (false, false):
                // The server is authoritative about which connection publishes.
                guard entry.beganAt < askedAt - Self.trial else { break }
                entries[subject.key]?.session = name
                entries[subject.key]?.previous = nil
            }
        }
        for (key, entry) in entries where !present.contains(key) && entry.subject.hook == hook {
            guard !entry.hasEnded, entry.beganAt < askedAt - Self.trial else { continue }
            corrections.append(Self.end(of: entry.subject, entry.session))
        }
        for subject in stored {
            guard !present.contains(subject.key), entries[subject.key] == nil else { continue }
            corrections.append(Self.end(of: subject, SessionName("", "")))
        }
        return corrections
    }

    private static func end(of subject: Subject, _ session: SessionName) -> Correction {
        Correction(
            event: HookEvent(
                room: subject.room,
                kind: .streamUnpublished(user: subject.user, stream: subject.stream, reason: nil),
                session: HookSession(id: session.id, step: .ends)),
            peer: session.peer ?? "")
    }
}
