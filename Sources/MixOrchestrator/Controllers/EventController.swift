import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel

/// `POST /v1/events` and `POST /v1/rooms/{room}/events`: answered when everything in the body is stored.
struct EventController: Sendable {
    let registry: RoomRegistry
    let parser: EventParser
    let metrics: Metrics

    func addRoutes(to router: some RouterMethods<some RequestContext>) {
        router.post("v1/events", use: cloudEvents)
        router.post("v1/rooms/{room}/events", use: shortForm)
    }

    private struct Counts: Encodable {
        var accepted = 0
        var duplicate = 0
        var stale = 0
    }

    @Sendable private func cloudEvents(_ request: Request, _ context: some RequestContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let type = request.headers[.contentType]?.split(separator: ";").first.map { $0.lowercased() }
        let accepted = ["application/cloudevents+json", "application/cloudevents-batch+json", "application/json"]
        guard let type, accepted.contains(type.trimmingCharacters(in: .whitespaces)) else {
            throw OrchestratorError(
                .unsupportedMediaType, "unsupported-media-type", "The body's type is not accepted",
                detail: "found \(type ?? "none")", field: "Content-Type",
                expected: accepted.joined(separator: ", "))
        }
        return try await take(try parser.cloudEvents(try await request.json()), receivedAt)
    }

    @Sendable private func shortForm(_ request: Request, _ context: some RequestContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let room = try context.roomID()
        let key = HTTPField.Name("Idempotency-Key").flatMap { request.headers[$0] } ?? UUID().uuidString
        guard 1...256 ~= key.utf8.count else {
            throw InputError(.invalidField, field: "Idempotency-Key", expected: "1 to 256 bytes")
        }
        return try await take([try parser.shortForm(try await request.json(), room: room, id: key)], receivedAt)
    }

    /// Events of one room stay in order: they are taken one after another.
    private func take(_ events: [RoomEvent], _ receivedAt: Int64) async throws -> Response {
        for event in events where event.app != "default" {
            throw InputError(.invalidField, field: "app", found: "\"\(event.app)\"", expected: "\"default\"")
        }
        var counts = Counts()
        for event in events {
            let outcome = try await registry.owner(event.room).receive(event, at: receivedAt)
            metrics.count(.events, outcome.rawValue)
            switch outcome {
            case .accepted: counts.accepted += 1
            case .duplicate: counts.duplicate += 1
            case .stale: counts.stale += 1
            }
        }
        return jsonResponse(counts, status: .accepted)
    }
}
