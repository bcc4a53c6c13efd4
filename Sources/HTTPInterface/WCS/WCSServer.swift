import EncodedMedia
import EventSubscription
import Foundation
import HTTPTypes
import Logging
import MixModel
import RoomService
import Synchronization
import TextFormats

/// Web Call Server's signalling at `/`: admits clients, and tracks their published streams.
package final class WCSServer: Sendable {
    /// A stream that a client publishes.
    struct Publisher: Sendable {
        /// Identifier that the client chose.
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
    private let courier: StreamCourier
    let door: any WebRTCDoor
    let playDoor: any WebRTCPlayDoor
    let hooks: WCSHooks?
    /// Tells other nodes what publishers say; `nil` without a cluster.
    let sayings: SayingCourier?
    private let limits: RateLimits
    let logger: Logger
    /// Publishers by stream, each of which has at most one.
    private let publishers = Mutex<[StreamNames: Publisher]>([:])
    let audience = WCSAudience()
    private let turns = RateLimiter(rate: WCSTurns.ratePerCaller)
    private let clients = Mutex((connections: [String: WCSConnection](), count: 0))
    /// Distinguishes the connections of this run from those of other runs.
    private let run = UUID.quick().uuidString.prefix(8).lowercased()

    /// - Parameters:
    ///   - courier: Brings changes of streams to their rooms.
    ///   - door: Where publishers are let in.
    ///   - playDoor: Where viewers are let in.
    ///   - hooks: Calls of the app's server, if it wants any.
    ///   - sayings: Tells other nodes what publishers say; `nil` without a cluster.
    package init(
        settings: WCSSettings, tokens: AccessTokens, registry: RoomRegistry, courier: StreamCourier,
        door: any WebRTCDoor, playDoor: any WebRTCPlayDoor, hooks: WCSHooks?, sayings: SayingCourier? = nil,
        limits: RateLimits, logger: Logger
    ) {
        self.sayings = sayings
        self.courier = courier
        self.settings = settings
        self.tokens = tokens
        self.registry = registry
        self.door = door
        self.playDoor = playDoor
        self.hooks = hooks
        self.limits = limits
        self.logger = logger
    }

    /// The route of its WebSockets.
    package var route: WebSocketRoute {
        WebSocketRoute(paths: ["/"], limits: settings.sockets, numbers: settings.numbers) {
            [isOpenToPages] head, _ in
            guard !isOpenToPages else { return nil }
            do throws(HTTPProblem) {
                try BrowserGuard.check(head, isUpgrade: true)
                return nil
            } catch {
                return WebSocketRefusal(error)
            }
        } serve: { [self] socket, head in
            await serve(socket, WebRTCClient(head, address: socket.address))
        }
    }

    /// Whether each client must present a token of the service.
    var checksTokens: Bool { !tokens.isEmpty && hooks?.settings.replacesTokens != true }

    /// Whether web pages of other hosts may connect: they present a token, which only permitted pages have, or the
    /// app's server decides.
    private var isOpenToPages: Bool { checksTokens || hooks?.settings.replacesTokens == true }

    private func serve(_ socket: WebSocket, _ client: WebRTCClient) async {
        let (changes, change) = AsyncStream<WCSConnection.Change>.makeStream()
        let (sayings, saying) = AsyncStream<WCSConnection.Saying>.makeStream(bufferingPolicy: .bufferingNewest(256))
        let lane = hooks.map { WCSHookLane($0) }
        let connection = WCSConnection(
            self, socket, from: client, name: newName(socket.address), lane: lane, onChange: change, onSaying: saying)
        clients.withLock { $0.connections[connection.name] = connection }
        await withDiscardingTaskGroup { outer in
            if let lane {
                // Calls of a connection that has ended are still made.
                outer.addTask { await Self.serve(lane, connection) }
            }
            await withDiscardingTaskGroup { group in
                group.addTask {
                    while (try? await Task.sleep(for: Self.tick)) != nil { await connection.tick() }
                }
                group.addTask {
                    for await change in changes { await connection.take(change) }
                }
                group.addTask {
                    for await saying in sayings { await connection.take(saying) }
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
                saying.finish()
                group.cancelAll()
            }
            clients.withLock { $0.connections[connection.name] = nil }
            lane?.finish()
        }
    }

    private static func serve(_ lane: WCSHookLane, _ connection: WCSConnection) async {
        await withDiscardingTaskGroup { group in
            await lane.run { question, answer in
                for work in await connection.decided(question, WCSHookVerdict(answer)) {
                    group.addTask { await connection.perform(work) }
                }
            }
        }
    }

    /// Returns a connection's name for the app's server, in the form of WCS: client, then server.
    private func newName(_ address: String) -> String {
        let number = clients.withLock { clients in
            clients.count += 1
            return clients.count
        }
        return "/\(address):\(number)/\(run)"
    }

    /// Interval between two pings of WCS.
    private static let tick = Duration.seconds(5)

    // MARK: For connections

    /// The rights of an admitted client.
    struct Admission: Sendable {
        /// The app of its rooms.
        var app = AppID.standard
        var mayPublish = true
        /// Number of the client's token; `nil` if no tokens are checked.
        var token: Int?
    }

    /// Decides whether a client is admitted.
    ///
    /// - Returns: `nil` if it is refused.
    func admit(_ connect: WCSConnect, from address: String) -> Admission? {
        // With a hook, the app's server is not asked about clients of an address that it refuses all the time. A valid token
        // counts even then: behind a proxy, all clients have one address.
        guard checksTokens else { return hooks != nil && isRefusing(address) ? nil : Admission() }
        guard let caller = connect.token.flatMap({ tokens.caller(showing: $0) }),
            !caller.scopes.isDisjoint(with: [.publish, .read])
        else {
            countRefusal(from: address)
            return nil
        }
        return Admission(app: caller.app, mayPublish: caller.scopes.contains(.publish), token: caller.token)
    }

    /// Returns whether too many clients of an address have just been refused.
    func isRefusing(_ address: String) -> Bool { limits.failures.wait(by: .address(address)) != nil }

    /// Counts a client that is refused.
    func countRefusal(from address: String) { _ = limits.failures.take(by: .address(address)) }

    /// Counts a stream that an admitted client begins.
    ///
    /// - Returns: False if the client's token, or without one its address, has begun too many in the last second.
    func takesTurn(_ admission: Admission, at address: String) -> Bool {
        turns.take(by: admission.token.map { .token($0) } ?? .address(address)) == nil
    }

    func names(_ name: String, app: AppID) -> Result<StreamNames, NamePatterns.Unmatched> {
        let names = WCSStreamName.read(name, by: settings.names, app: app)
        if case .success(let found) = names, found.room.app != app {
            return .failure(NamePatterns.Unmatched(text: "the name belongs to another app than the token"))
        }
        return names
    }

    /// Registers a client as a stream's publisher.
    ///
    /// - Returns: False if another client is already its publisher.
    func enter(_ names: StreamNames, _ id: String, _ stream: WCSSession.Stream, _ connection: WCSConnection) -> Bool {
        publishers.withLock { publishers in
            guard publishers[names] == nil else { return false }
            publishers[names] = Publisher(
                id: id, names: names, begun: wallClock(), status: stream.status, hasAudio: stream.hasAudio,
                hasVideo: stream.hasVideo, connection: connection)
            return true
        }
    }

    func note(_ target: WebRTCPlayTarget, _ id: String, status: String) {
        guard case .participant(let names) = target else { return }
        publishers.withLock { publishers in
            if publishers[names]?.id == id { publishers[names]?.status = status }
        }
    }

    func leave(_ target: WebRTCPlayTarget, _ id: String) {
        guard case .participant(let names) = target else { return }
        let isOver = publishers.withLock { publishers in
            guard publishers[names]?.id == id else { return false }
            publishers[names] = nil
            return true
        }
        if isOver { audience.lose(target) }
    }

    /// Returns the target of a stream name that is to be played: a participant's stream, or the program of a room.
    func target(_ name: String, app: AppID) -> WebRTCPlayTarget? {
        if case .success(let names) = names(name, app: app) { return .participant(names) }
        guard !name.utf8.contains(UInt8(ascii: "#")), let room = try? EventParser.knownIdentifier(name, field: "name")
        else { return nil }
        return .program(RoomID(app: app, name: room))
    }

    /// Returns whether a stream is in its room, or a program on air.
    func isThere(_ target: WebRTCPlayTarget) async -> Bool {
        guard let state = try? await registry.shownState(of: target.room) else { return false }
        switch target {
        case .program: return !state.tasksToWatch.isEmpty
        case .participant(let names):
            return state.room.document.participant(names.user)?.streams.contains { $0.kind == names.stream } ?? false
        }
    }

    func close(_ session: String, _ target: WebRTCPlayTarget, isPublished: Bool) {
        if isPublished {
            door.close(session, of: target.room.app)
        } else {
            playDoor.stopPlaying(session, of: target.room.app)
        }
    }

    /// Tells the room that the client has turned its audio or video on or off.
    func mute(_ names: StreamNames, audio: Bool?, video: Bool?) async {
        let event = RoomEvent(
            room: names.room, app: names.room.app.rawValue, source: "/wcs", id: UUID.quick().uuidString,
            time: wallClock(),
            kind: .streamUpdated(StreamUpdate(user: names.user, stream: names.stream, audio: audio, video: video)))
        do {
            try await courier.update(event)
        } catch {
            logger.warning("WCS: a change of a stream is lost: \(error)", metadata: ["room": "\(names.room)"])
        }
    }

    // MARK: For the app's server

    /// The connections that have names known to the app's server.
    var connections: [WCSConnection] {
        clients.withLock { Array($0.connections.values) }.sorted { $0.begun < $1.begun }
    }

    /// Returns the publishers of an app, in the order in which they began.
    func publishers(of app: AppID) -> [Publisher] {
        publishers.withLock { $0.values.filter { $0.names.room.app == app } }.sorted { $0.begun < $1.begun }
    }

    /// Ends a publisher's stream.
    func terminate(_ publisher: Publisher) async { await publisher.connection.terminate(publisher.id) }
}
