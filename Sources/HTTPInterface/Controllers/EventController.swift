import EncodedMedia
import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import NIOCore
import RoomService
import TaskStore

/// `POST /v1/events` and `POST /v1/rooms/{room}/events`, answered once all events in the body are stored.
package struct EventController: Sendable {
    let pages: PageSupervisor
    let parser: EventParser
    let metrics: Metrics
    let limits: RateLimits
    /// The apps whose events are accepted besides the standard one's, without tokens. With tokens this is `nil`, and
    /// the token determines the app.
    let apps: Set<AppID>?
    /// Passes parts of batches on to other nodes; `nil` without a cluster.
    let exchange: NodeExchange?

    /// Number of rooms of one batch that are processed at the same time. A larger number would hardly share more
    /// commits, and would make other callers wait behind the whole batch.
    private static let roomsAtOnce = 32

    package init(
        pages: PageSupervisor, parser: EventParser, metrics: Metrics, limits: RateLimits, apps: Set<AppID>?,
        exchange: NodeExchange? = nil
    ) {
        self.exchange = exchange
        self.pages = pages
        self.parser = parser
        self.metrics = metrics
        self.limits = limits
        self.apps = apps
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.post("v1/events", use: cloudEvents)
        router.post("v1/rooms/{room}/events", use: shortForm)
    }

    private struct Counts: Encodable {
        var accepted = 0
        var duplicate = 0
        var stale = 0
        /// Notes for the person who sent the events.
        var notes: [String] = []

        /// Largest number of notes in an answer.
        static let mostNotes = 16

        var total: Int { accepted + duplicate + stale }

        mutating func note(_ note: String?) {
            guard let note, notes.count < Self.mostNotes, !notes.contains(note) else { return }
            notes.append(note)
        }

        init() {}

        init(_ counts: EventBatch.Counts) {
            (accepted, duplicate, stale) = (counts.accepted, counts.duplicate, counts.stale)
            notes = counts.notes ?? []
        }

        mutating func add(_ other: Counts) {
            for note in other.notes { self.note(note) }
            accepted += other.accepted
            duplicate += other.duplicate
            stale += other.stale
        }

        /// The answer, in the form of `jsonBytes`. Writing it by hand takes a tenth of the time.
        var response: Response {
            guard notes.isEmpty else { return jsonResponse(self, status: .accepted) }
            let text = #"{"accepted":\#(accepted),"duplicate":\#(duplicate),"stale":\#(stale)}"#
            return Response(
                status: .accepted, headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
        }
    }

    @Sendable private func cloudEvents(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let mode = try ContentMode(request.headers)
        let body = try await request.bytes()
        let events = try events(in: body, packed: mode, request.headers, context)
        let batch = exchange.map { EventBatch(exchange: $0, request: request, body: body, context: context) }
        return try await take(events, receivedAt, context, batch)
    }

    private func events(
        in body: [UInt8], packed mode: ContentMode, _ headers: HTTPFields, _ context: OrchestratorContext
    ) throws -> [RoomEvent] {
        let rule = apps.map { AppRule.any($0) } ?? .only(context.caller.app)
        return switch mode {
        case .structured: [try parser.cloudEvent(try JSONValue(parsing: body), apps: rule)]
        case .batch: try parser.batch(try JSONValue(parsing: body), apps: rule)
        case .json: try parser.cloudEvents(try JSONValue(parsing: body), apps: rule)
        case .binary:
            [
                try parser.binaryEvent(
                    headers: headers.lazy.map { ($0.name.canonicalName, $0.value) }, body: body, apps: rule)
            ]
        }
    }

    /// The content mode of an event (HTTP protocol binding 1.0, section 3).
    private enum ContentMode {
        case structured, batch, binary
        /// Plain JSON: one event or several.
        case json

        init(_ headers: HTTPFields) throws(HTTPProblem) {
            // The subscript joins values even if there is only one, which costs more than the rest of this function.
            let fields = headers[values: .contentType]
            let field = fields.count > 1 ? fields.joined(separator: ", ") : fields.first
            if field == "application/cloudevents+json" {
                self = .structured
                return
            }
            let type = field.map { field in
                field.prefix { $0 != ";" }.lowercased().trimmed
            }
            let isBinary = Self.version.map { headers.contains($0) } ?? false
            switch type {
            case "application/cloudevents+json": self = .structured
            case "application/cloudevents-batch+json": self = .batch
            case let type? where type.hasPrefix("application/cloudevents"): throw Self.refused(type)
            // `binaryEvent` refuses a type that is not JSON, together with the event's other attributes.
            case _ where isBinary: self = .binary
            case "application/json": self = .json
            default: throw Self.refused(type)
            }
        }

        private static let version = HTTPField.Name("ce-specversion")

        private static func refused(_ type: String?) -> HTTPProblem {
            HTTPProblem(
                .unsupportedMediaType, "unsupported-media-type", "The content type is not accepted",
                detail: "found \(type.map { String($0.prefix(100)) } ?? "none")", field: "Content-Type",
                expected: "application/cloudevents+json, application/cloudevents-batch+json, application/json; or any "
                    + "JSON type with the event's attributes in ce-… headers")
        }
    }

    @Sendable private func shortForm(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let room = try context.newRoomID()
        let key = try request.idempotencyKey() ?? UUID.quick().uuidString
        let body = try await request.json()
        let event = try parser.shortForm(body, room: room, id: key)
        return try await take([event], receivedAt, context)
    }

    /// Returns a note with the URL from which a stream is pulled if the template gives it.
    private func templateNote(_ event: RoomEvent) -> String? {
        guard case .streamPublished(let publication) = event.kind,
            parser.takesTemplate(publication, room: event.room)
        else { return nil }
        return "url: sources.urlTemplate gives \(StreamURL.redacted(publication.url))"
    }

    /// Processes the events of one room in order, one after another. Rooms do not wait for each other.
    private func take(
        _ events: [RoomEvent], _ receivedAt: Int64, _ context: OrchestratorContext, _ batch: EventBatch? = nil
    ) async throws -> Response {
        try limits.take(events: events.count, context)
        var counts = Counts()
        if events.count <= 1, !context.takesShare {
            counts = try await takeInOrder(events[...], receivedAt)
        } else {
            var rooms = Dictionary(grouping: events, by: \.room).values.makeIterator()
            var others: [String: NodeProfile] = [:]
            try await withThrowingTaskGroup(of: Part.self) { group in
                func takeNextRoom() {
                    guard let events = rooms.next() else { return }
                    group.addTask { try await takeRoom(events, receivedAt, isPart: batch != nil) }
                }
                for _ in 0..<Self.roomsAtOnce { takeNextRoom() }
                while let part = try await group.next() {
                    switch part {
                    case .taken(let part): counts.add(part)
                    case .elsewhere(let node): others[node.key] = node
                    }
                    takeNextRoom()
                }
            }
            // A node that was sent a share does not send shares itself.
            if let batch, !context.takesShare {
                for node in others.values { counts.add(Counts(try await batch.send(to: node))) }
                // A room that has left a node since it was found there is in no share.
                guard counts.total >= events.count else { throw EventBatch.incomplete }
            }
        }
        return counts.response
    }

    /// The outcome of the events of one room.
    private enum Part: Sendable {
        case taken(Counts)
        /// Another node has the room.
        case elsewhere(NodeProfile)
    }

    private func takeRoom(_ events: [RoomEvent], _ receivedAt: Int64, isPart: Bool) async throws -> Part {
        guard isPart else { return .taken(try await takeInOrder(events[...], receivedAt)) }
        // Separate for each room, so that the request itself is not passed on.
        let forwarding = NodeForwarding(isForwarded: false)
        do {
            return .taken(
                try await NodeForwarding.$current.withValue(forwarding) {
                    try await takeInOrder(events[...], receivedAt)
                })
        } catch {
            guard let node = forwarding.target else { throw error }
            return .elsewhere(node)
        }
    }

    private func takeInOrder(_ events: ArraySlice<RoomEvent>, _ receivedAt: Int64) async throws -> Counts {
        var counts = Counts()
        for event in events {
            let receipt = try await pages.take(event, at: receivedAt)
            metrics.count(.events, receipt.outcome.rawValue)
            counts.note(receipt.note)
            counts.note(templateNote(event))
            switch receipt.outcome {
            case .accepted: counts.accepted += 1
            case .duplicate: counts.duplicate += 1
            case .stale: counts.stale += 1
            }
        }
        return counts
    }
}
