import Foundation
import MediaFormats
import Synchronization
import TestSupport
import Testing

@testable import RTMP

/// A program that reaches viewers another way while it has no relay.
@Suite(.timeLimit(.minutes(2))) struct ProgramDetourTests {
    /// A socket at which a program can be read: a relay's, or the service's.
    private final class Place: Sendable {
        private struct State {
            var lines = ""
            var channels: [SocketChannel] = []
        }
        private let state: Box
        private let listener: UnixListener

        private final class Box: Sendable { let value = Mutex(State()) }

        /// - Parameter isClosed: Whether it closes each connection at once.
        init(_ path: String, isClosed: Bool = false) throws {
            let state = Box()
            self.state = state
            listener = try UnixListener(path: path) { descriptor in
                let channel = SocketChannel(
                    descriptor: descriptor,
                    onBytes: { bytes in state.value.withLock { $0.lines += String(decoding: bytes, as: UTF8.self) } },
                    onClosed: {})
                if isClosed { channel.close() }
                state.value.withLock { $0.channels.append(channel) }
            }
        }

        /// The lines that workers have sent on all connections.
        var lines: String { state.value.withLock { $0.lines } }
        var connections: Int { state.value.withLock { $0.channels.count } }

        func send(_ tags: [FLVTag]) {
            state.value.withLock { $0.channels.last }?.send(FLVTag.fileHeader + tags.flatMap(\.encoded))
        }

        func closeConnections() { for channel in state.value.withLock({ $0.channels }) { channel.close() } }

        func close() {
            listener.close()
            closeConnections()
        }
    }

    private static let direct = #"{"viewFLV":{"keyframeRequests":true}}"# + "\n"
    private static let asked = "please\n"
    private static let wish = #"{"requestKeyframe":{}}"# + "\n"

    private static func path() -> String {
        FileManager.default.temporaryDirectory.appending(path: "detour-\(UInt32.random(in: 0 ... .max))").path
    }

    private static func tag(_ number: UInt8) -> FLVTag {
        FLVTag(role: .metadata, timestamp: UInt32(number), body: [2, 0, 1, number])
    }

    /// A viewer asks the service, the relay once it is there, and the service again when the relay has gone.
    @Test func aProgramIsFollowedWhereItGoes() async throws {
        let (relayPath, servicePath) = (Self.path(), Self.path())
        let service = try Place(servicePath)
        let viewer = try ProgramViewer(relayPath, detour: ProgramClient.Detour(path: servicePath, request: "please"))
        try #require(try await outputEventually { service.lines == Self.asked })
        #expect(viewer.begun == 0, "nothing has come yet")
        service.send([Self.tag(1)])
        try #require(try await outputEventually { viewer.tags.map(\.tag) == [Self.tag(1)] })
        #expect(viewer.begun == 1)
        viewer.requestKeyframe()
        try #require(try await outputEventually { service.lines == Self.asked + Self.wish })

        let relay = try Place(relayPath)
        service.closeConnections()
        try #require(try await outputEventually { relay.lines == Self.direct })
        relay.send([Self.tag(2)])
        try #require(try await outputEventually { viewer.tags.count == 2 })
        #expect(viewer.begun == 2)
        // The relay has not announced that it takes requests for keyframes.
        viewer.requestKeyframe()

        relay.close()
        try #require(try await outputEventually { service.lines == Self.asked + Self.wish + Self.asked })
        service.send([Self.tag(3)])
        try #require(try await outputEventually { viewer.tags.map(\.tag) == [Self.tag(1), Self.tag(2), Self.tag(3)] })
        #expect(viewer.begun == 3 && relay.lines == Self.direct && !viewer.hasEnded)
        viewer.stop()
        service.close()
    }

    /// A relay that is prepared for a move listens already, and sends nothing before the move is over.
    @Test func aProgramIsReadWhereItIsOnAirBeforeItMoves() async throws {
        let (relayPath, servicePath) = (Self.path(), Self.path())
        let (relay, service) = (try Place(relayPath), try Place(servicePath))
        let viewer = try ProgramViewer(relayPath, detour: ProgramClient.Detour(path: servicePath, request: "please"))
        try #require(try await outputEventually { service.lines == Self.asked })
        service.send([Self.tag(1)])
        try #require(try await outputEventually { viewer.tags.map(\.tag) == [Self.tag(1)] })
        #expect(viewer.begun == 1 && relay.connections == 0)
        service.closeConnections()
        try #require(try await outputEventually { relay.lines == Self.direct })
        relay.send([Self.tag(2)])
        try #require(try await outputEventually { viewer.tags.map(\.tag) == [Self.tag(1), Self.tag(2)] })
        #expect(viewer.begun == 2 && service.lines == Self.asked && !viewer.hasEnded)
        viewer.stop()
        relay.close()
        service.close()
    }

    /// The service closes the connection where the program is this machine's, and says nothing where it stands still.
    @Test(arguments: [true, false]) func aProgramOfThisMachineIsReadFromItsRelay(isClosed: Bool) async throws {
        let (relayPath, servicePath) = (Self.path(), Self.path())
        let (relay, service) = (try Place(relayPath), try Place(servicePath, isClosed: isClosed))
        let viewer = try ProgramViewer(relayPath, detour: ProgramClient.Detour(path: servicePath, request: "please"))
        try #require(try await outputEventually { relay.lines == Self.direct })
        relay.send([Self.tag(1)])
        try #require(try await outputEventually { viewer.tags.map(\.tag) == [Self.tag(1)] })
        #expect(viewer.begun == 1 && service.connections == 1)
        viewer.stop()
        relay.close()
        service.close()
    }

    /// It is tried for as long as a relay would be, but less often.
    @Test func aDetourThatLeadsNowhereEnds() async throws {
        let path = Self.path()
        let service = try Place(path, isClosed: true)
        let viewer = try ProgramViewer(Self.path(), detour: ProgramClient.Detour(path: path, request: "please"))
        try #require(try await outputEventually { viewer.hasEnded })
        #expect(6...40 ~= service.connections, "\(service.connections)")
        #expect(viewer.begun == 0 && viewer.tags.isEmpty)
        service.close()
    }

    /// A service that stands still accepts connections, and does not end them.
    @Test func aDetourWithoutAWordEnds() async throws {
        let path = Self.path()
        let service = try Place(path)
        let viewer = try ProgramViewer(Self.path(), detour: ProgramClient.Detour(path: path, request: "please"))
        try #require(try await outputEventually { viewer.hasEnded })
        #expect(service.lines == Self.asked && service.connections == 1, "\(service.lines)")
        #expect(viewer.begun == 0 && viewer.tags.isEmpty)
        service.close()
    }
}
