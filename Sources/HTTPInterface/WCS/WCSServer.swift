import EncodedMedia
import EventSubscription
import Foundation
import HTTPTypes
import Logging
import MixModel
import RoomService
import Synchronization
import TextFormats

/// Web Call Server's signalling at `/`: lets clients in, and knows what they publish.
package final class WCSServer: Sendable {
    /// A stream that a client publishes.
    struct Publisher: Sendable {
        /// Identifier that the client gave it.
        let id: String
        let names: StreamNames
        let begun: Double
        var status: String
        var hasAudio: Bool
        var hasVideo: Bool
        fileprivate let connection: WCSConnection
    }

    /// Reads the name of an app's stream.
    typealias Names = @Sendable (String, AppID) -> Result<StreamNames, NamePatterns.Unmatched>

    private let settings: WCSSettings
    private let tokens: AccessTokens
    let registry: RoomRegistry
    let door: any WebRTCDoor
    private let limits: RateLimits
    let logger: Logger
    /// Publishers by stream, which has one at most.
    private let publishers = Mutex<[StreamNames: Publisher]>([:])

    package init(
        settings: WCSSettings, tokens: AccessTokens, registry: RoomRegistry, door: any WebRTCDoor, limits: RateLimits,
        logger: Logger
    ) {
        self.settings = settings
        self.tokens = tokens
        self.registry = registry
        self.door = door
        self.limits = limits
        self.logger = logger
    }

    /// The route of its WebSockets.
    package var route: WebSocketRoute {
        WebSocketRoute(path: "/", limits: settings.sockets) { [tokens] head in
            // With tokens, each client shows one, which no web page has unless it may.
            guard tokens.isEmpty else { return nil }
            do throws(HTTPProblem) {
                try BrowserGuard.check(head, isUpgrade: true)
                return nil
            } catch {
                return error
            }
        } serve: { [self] socket in
            await serve(socket)
        }
    }

    private func serve(_ socket: WebSocket) async {
        let (changes, change) = AsyncStream<WCSConnection.Change>.makeStream()
        let connection = WCSConnection(self, socket, onChange: change)
        await withDiscardingTaskGroup { group in
            group.addTask {
                while (try? await Task.sleep(for: Self.tick)) != nil { await connection.tick() }
            }
            group.addTask {
                for await change in changes { await connection.take(change) }
            }
            await socket.forEach { message in
                guard let seconds = limits.requests.take(by: .address(socket.address)) else {
                    for work in await connection.receive(message) {
                        group.addTask { await connection.perform(work) }
                    }
                    return
                }
                socket.close(.refused("too many messages, try again in \(seconds) s: http.rate.requests"))
            }
            await connection.end()
            change.finish()
            group.cancelAll()
        }
    }

    /// Time between two pings of WCS.
    private static let tick = Duration.seconds(5)

    // MARK: For connections

    /// Decides whether a client is let in.
    ///
    /// - Returns: The app of its rooms; `nil` if it is refused.
    func admit(_ connect: WCSConnect, from address: String) -> AppID? {
        guard !tokens.isEmpty else { return .standard }
        guard limits.failures.wait(by: .address(address)) == nil else { return nil }
        guard let caller = connect.token.flatMap({ tokens.caller(showing: $0) }), caller.scopes.contains(.publish)
        else {
            _ = limits.failures.take(by: .address(address))
            return nil
        }
        return caller.app
    }

    func names(_ name: String, app: AppID) -> Result<StreamNames, NamePatterns.Unmatched> {
        let names = WCSStreamName.read(name, by: settings.names, app: app)
        if case .success(let found) = names, found.room.app != app {
            return .failure(NamePatterns.Unmatched(text: "the name belongs to another app than the token"))
        }
        return names
    }

    /// Takes the place of a stream's publisher.
    ///
    /// - Returns: False if another client has it.
    func enter(_ names: StreamNames, _ id: String, _ stream: WCSSession.Stream, _ connection: WCSConnection) -> Bool {
        publishers.withLock { publishers in
            guard publishers[names] == nil else { return false }
            publishers[names] = Publisher(
                id: id, names: names, begun: wallClock(), status: stream.status, hasAudio: stream.hasAudio,
                hasVideo: stream.hasVideo, connection: connection)
            return true
        }
    }

    func note(_ names: StreamNames, _ id: String, status: String) {
        publishers.withLock { publishers in
            if publishers[names]?.id == id { publishers[names]?.status = status }
        }
    }

    func leave(_ names: StreamNames, _ id: String) {
        publishers.withLock { publishers in
            if publishers[names]?.id == id { publishers[names] = nil }
        }
    }

    /// Whether a stream is in its room.
    func isThere(_ names: StreamNames) async -> Bool {
        let room = try? await registry.snapshot(names.room)?.room.document
        return room?.participant(names.user)?.streams.contains { $0.kind == names.stream } ?? false
    }

    /// Tells the room that the client has turned its sound or picture on or off.
    func mute(_ names: StreamNames, audio: Bool?, video: Bool?) async {
        let event = RoomEvent(
            room: names.room, app: names.room.app.rawValue, source: "/wcs", id: UUID.quick().uuidString,
            time: wallClock(),
            kind: .streamUpdated(StreamUpdate(user: names.user, stream: names.stream, audio: audio, video: video)))
        do {
            _ = try await registry.owner(names.room).take(event, at: MonotonicClock.now())
        } catch {
            logger.warning("WCS: a change of a stream is lost: \(error)", metadata: ["room": "\(names.room)"])
        }
    }

    // MARK: For the app's server

    /// The publishers of an app, in the order in which they began.
    func publishers(of app: AppID) -> [Publisher] {
        publishers.withLock { $0.values.filter { $0.names.room.app == app } }.sorted { $0.begun < $1.begun }
    }

    /// Ends a publisher's stream.
    func terminate(_ publisher: Publisher) async { await publisher.connection.terminate(publisher.id) }
}
