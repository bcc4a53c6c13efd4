import AsyncHTTPClient
import Foundation
import LayoutEngine
import NIOCore
import NIOHTTP1

@testable import MixModel

/// The service's HTTP interface, as an app server uses it.
struct ServiceClient: Sendable {
    struct Answer: Sendable {
        var status: Int
        var contentType: String
        var entityTag: String?
        var location: String?
        var body: Data

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// The parts of a task that the tests check.
    struct TaskState: Decodable, Sendable {
        struct Output: Decodable, Sendable {
            var state: String
            var reconnects: Int
        }
        struct Switch: Decodable, Sendable {
            var from: String?
            var to: String
            var latencyMs: Double
        }
        struct SceneState: Decodable, Sendable {
            struct Pane: Decodable, Hashable, Sendable {
                var user: String
                var x: Int
                var y: Int
                var width: Int
                var height: Int
            }
            var panes: [Pane]
        }
        var onAir: String?
        var scene: SceneState?
        var outputs: [Output]
        var switches: [Switch]
        var lastError: String?

        var panes: Set<SceneState.Pane> { Set(scene?.panes ?? []) }
        /// Users in the picture of a mix.
        var users: Set<String> { Set(scene?.panes.map(\.user) ?? []) }
    }

    let port: Int

    /// An HTTP client that fails at once if there is no listener.
    private static let http: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// Sends a request.
    ///
    /// - Parameter limit: The default is long enough for a service that looks up the outcome of a lost COMMIT, which
    ///   answers after 12 s.
    func request(
        _ method: String, _ path: String, json: String? = nil, headers: [String: String] = [:],
        within limit: TimeAmount = .seconds(60)
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        request.method = HTTPMethod(rawValue: method)
        // A connection to a service that has since been killed must not be used again.
        request.headers.add(name: "Connection", value: "close")
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let json {
            request.body = .bytes(ByteBuffer(string: json))
            if headers["Content-Type"] == nil { request.headers.add(name: "Content-Type", value: "application/json") }
        }
        let response = try await Self.http.execute(request, timeout: limit)
        let body = try await response.body.collect(upTo: 16 << 20)
        return Answer(
            status: Int(response.status.code), contentType: response.headers.first(name: "Content-Type") ?? "",
            entityTag: response.headers.first(name: "ETag"), location: response.headers.first(name: "Location"),
            body: Data(body.readableBytesView))
    }

    /// Returns the body of a GET as a stream; `nil` if it is refused.
    func body(_ path: String) async throws -> HTTPClientResponse.Body? {
        let response = try await Self.http.execute(
            HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)"), timeout: .seconds(60))
        return response.status.code == 200 ? response.body : nil
    }

    private func expectSuccess(_ method: String, _ path: String, json: String? = nil) async throws -> Answer {
        let answer = try await request(method, path, json: json)
        guard (200..<300).contains(answer.status) else {
            throw EndToEndError("\(method) \(path): \(answer.status) \(answer.text)")
        }
        return answer
    }

    /// Creates or changes a room.
    ///
    /// - Parameter layout: The name of one of the package's layouts.
    func putRoom(_ room: String, host: String, output: String, layout: String, canvas: Canvas) async throws {
        _ = try await expectSuccess(
            "PUT", "/v1/rooms/\(room)",
            json: """
                {"host": "\(host)", "layout": "\(layout)", "outputs": [{"id": "cdn", "url": "\(output)"}],
                 "canvas": {"width": \(canvas.width), "height": \(canvas.height), "fps": \(canvas.fps)}}
                """)
    }

    func putLayout(_ name: String, json: String) async throws {
        _ = try await expectSuccess("PUT", "/v1/layouts/\(name)", json: json)
    }

    /// Returns the messages of a room's timeline, newest first.
    func timeline(_ room: String) async throws -> [String] {
        struct Timeline: Decodable {
            struct Entry: Decodable { var message: String }
            var entries: [Entry]
        }
        let answer = try await expectSuccess("GET", "/v1/tasks/auto-\(room)/timeline")
        return try JSONDecoder().decode(Timeline.self, from: answer.body).entries.map(\.message)
    }

    /// Returns the errors of the users' streams as reported by the room, only for streams with an error.
    func streamErrors(_ room: String) async throws -> [String: String] {
        struct Room: Decodable {
            struct Person: Decodable {
                struct Stream: Decodable { var error: String? }
                var user: String
                var streams: [Stream]
            }
            var participants: [Person]
        }
        let answer = try await expectSuccess("GET", "/v1/rooms/\(room)")
        let people = try JSONDecoder().decode(Room.self, from: answer.body).participants
        return people.reduce(into: [:]) { errors, person in
            errors[person.user] = person.streams.compactMap(\.error).first
        }
    }

    /// Returns the users of a room; empty if there is no room.
    func users(_ room: String) async throws -> Set<String> {
        struct Room: Decodable {
            struct Person: Decodable { var user: String }
            var participants: [Person]
        }
        let answer = try await request("GET", "/v1/rooms/\(room)")
        guard answer.status == 200 else { return [] }
        return Set(try JSONDecoder().decode(Room.self, from: answer.body).participants.map(\.user))
    }

    /// Returns the number of viewers of the room's program.
    func viewers(_ room: String) async throws -> Int {
        struct Room: Decodable { var viewers: Int }
        let answer = try await request("GET", "/v1/rooms/\(room)")
        return try JSONDecoder().decode(Room.self, from: answer.body).viewers
    }

    func deleteRoom(_ room: String) async throws {
        _ = try await expectSuccess("DELETE", "/v1/rooms/\(room)")
    }

    func published(_ room: String, user: String, url: String, role: String = "guest") async throws {
        _ = try await expectSuccess(
            "POST", "/v1/rooms/\(room)/events",
            json: #"{"type": "stream.published", "user": "\#(user)", "url": "\#(url)", "role": "\#(role)"}"#)
    }

    func unpublished(_ room: String, user: String) async throws {
        _ = try await expectSuccess(
            "POST", "/v1/rooms/\(room)/events", json: #"{"type": "stream.unpublished", "user": "\#(user)"}"#)
    }

    /// Returns the task's JSON and the parts of it that the tests need; `nil` while there is no task.
    ///
    /// - Parameter name: `nil` for the room's own task.
    func task(_ room: String, name: String? = nil) async throws -> (state: TaskState, json: Data)? {
        let answer = try await request("GET", "/v1/tasks/\(name ?? "auto-\(room)")")
        guard answer.status == 200 else { return nil }
        return (try JSONDecoder().decode(TaskState.self, from: answer.body), answer.body)
    }
}
