import MixModel

/// An event in a room, reported by a server that names rooms and participants itself.
struct ParticipantReport {
    enum Step: Hashable {
        case roomOpened, roomClosed
        case joined(name: String?)
        case left
        /// The stream, or a part of it, begins.
        case begins(StreamKind, Part?)
        /// The stream, or a part of it, ends.
        case ends(StreamKind, Part?)
    }
    enum Part: Hashable { case audio, video }

    var room: String
    /// The user; `nil` for an event of the room itself.
    var user: String?
    /// Values of `{app}` and `{name}` in the hook's `url`.
    var app: String
    var name: String
    var steps: [Step]
    /// Identifier by which repetitions are recognised.
    var id: String?
    var sequence: UInt64?
    /// Time of the event, in seconds since 1970.
    var time: Double?
}

extension HookReader {
    /// Returns the outcome of a report. Streams are added to the room only if the hook has its own `url`.
    func outcome(_ call: String, of report: ParticipantReport) -> HookOutcome {
        var outcome = HookOutcome(call: call, weight: .informative)
        switch settings.names.names(room: report.room, user: report.user) {
        case .failure(let reason): outcome.unmatched = reason.text
        case .success(let (room, user)):
            for step in report.steps {
                do throws(InputError) {
                    for kind in try kinds(of: step, in: room, user, report) { outcome.add(kind, room, report, step) }
                } catch {
                    outcome.refusal = error
                }
            }
        }
        return outcome
    }

    private func kinds(
        of step: ParticipantReport.Step, in room: RoomID, _ user: UserID?, _ report: ParticipantReport
    ) throws(InputError) -> [RoomEvent.Kind] {
        switch (step, user) {
        case (.roomOpened, _): return [.roomOpened]
        case (.roomClosed, _): return [.roomClosed]
        case (_, nil): return []
        case (.joined(let name), let user?): return [.participantJoined(user: user, role: nil, name: name)]
        case (.left, let user?): return [.participantLeft(user: user)]
        case (.begins(let stream, let part), let user?):
            guard let template = settings.urlTemplate else { return [] }
            let words = MediaServerStream(app: report.app, name: report.name)
            let url = try checked(
                template.url(of: words, report.name, as: StreamNames(room: room, user: user, stream: stream)))
            // It is not known yet whether the other part exists: until the server reports it as off, it counts as on.
            return [.streamPublished(Publication(user: user, stream: stream, url: url))]
                + Self.update(user, stream, part, isOn: true)
        case (.ends(let stream, let part), let user?):
            guard settings.urlTemplate != nil else { return [] }
            guard part != nil else { return [.streamUnpublished(user: user, stream: stream, reason: nil)] }
            return Self.update(user, stream, part, isOn: false)
        }
    }

    private static func update(
        _ user: UserID, _ stream: StreamKind, _ part: ParticipantReport.Part?, isOn: Bool
    ) -> [RoomEvent.Kind] {
        switch part {
        case nil: []
        case .audio?: [.streamUpdated(StreamUpdate(user: user, stream: stream, audio: isOn))]
        case .video?: [.streamUpdated(StreamUpdate(user: user, stream: stream, video: isOn))]
        }
    }
}

extension HookOutcome {
    /// Adds an event. Several events of one report get different identifiers.
    fileprivate mutating func add(
        _ kind: RoomEvent.Kind, _ room: RoomID, _ report: ParticipantReport, _ step: ParticipantReport.Step
    ) {
        let id = report.id.map { events.isEmpty ? $0 : "\($0)#\(events.count)" }
        var event = HookEvent(room: room, kind: kind, id: id, sequence: report.sequence, time: report.time)
        if case .streamPublished = kind, case .begins(_, .some) = step { event.isForAbsentStream = true }
        events.append(event)
    }
}

extension NamePatterns {
    /// Returns the room and the participant that the server names itself.
    func names(room: String, user: String?) -> Result<(RoomID, UserID?), Unmatched> {
        do throws(InputError) {
            let name = try EventParser.identifier(room, field: "room")
            // Conference services permit identifiers with spaces and slashes.
            let person = try user.map { text throws(InputError) in
                UserID(try EventParser.foreignIdentifier(text, field: "user"))
            }
            return .success((RoomID(app: fixedTenant ?? .standard, name: name), person))
        } catch {
            // The rejected text may be private.
            return .failure(Unmatched(text: "the \(error.field) is not valid: expected \(error.expected)"))
        }
    }
}
