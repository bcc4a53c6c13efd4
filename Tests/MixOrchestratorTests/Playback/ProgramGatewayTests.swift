import Foundation
import Logging
import MixModel
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import RoomService

/// The socket at which workers read programs of other nodes, without other nodes.
@Suite(.timeLimit(.minutes(2))) struct ProgramGatewayTests {
    /// Programs that begin with a word about themselves and do not end.
    private final class ScriptedPrograms: ProgramsElsewhere {
        private let state = Mutex((wishes: 0, views: 0))
        var wishes: Int { state.withLock { $0.wishes } }
        /// Programs that are being read.
        var views: Int { state.withLock { $0.views } }

        func view(
            _ task: TaskID, of room: RoomID, onBegin: @Sendable () async throws -> Void,
            onBytes: (ByteBuffer) async throws -> Void
        ) async -> Bool {
            guard task != "nowhere" else { return false }
            state.withLock { $0.views += 1 }
            do {
                try await onBegin()
                try await onBytes(ByteBuffer(string: "\(task) of \(room)"))
                try await Task.sleep(for: .seconds(3600))
            } catch {}
            state.withLock { $0.views -= 1 }
            return true
        }

        func view(
            _ task: TaskID, onBegin: @Sendable () async throws -> Void, onBytes: (ByteBuffer) async throws -> Void
        ) async -> Bool { false }

        func requestKeyframe(of task: TaskID, in room: RoomID) async { state.withLock { $0.wishes += 1 } }
        func mayHave(_ task: TaskID) async -> Bool { false }
    }

    /// Runs a gateway that takes two workers at once.
    private func withGateway(
        _ body: (_ gateway: ProgramGateway, _ programs: ScriptedPrograms) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            let programs = ScriptedPrograms()
            let gateway = try ProgramGateway(
                data: directory, programs: programs, most: 2, logger: Logger(label: "gateway"))
            let service = Task { try await gateway.run() }
            do {
                try await body(gateway, programs)
            } catch {
                service.cancel()
                throw error
            }
            service.cancel()
            try await service.value
            #expect(programs.views == 0, "no program is read after the end")
        }
    }

    @Test func aWorkerReadsAProgramUntilItLeaves() async throws {
        try await withGateway { gateway, programs in
            let reader = try await ProgramReader.open(gateway.detour(to: "auto-demo", of: "demo"))
            try await eventually { reader.text == "auto-demo of demo" ? true : nil }
            #expect(programs.views == 1)
            for _ in 0..<50 { reader.send(#"{"requestKeyframe":{}}"#) }
            try await eventually { programs.wishes > 0 ? true : nil }
            // A second one would begin in the middle of the first.
            reader.send(gateway.detour(to: "other", of: "demo").request)
            reader.close()
            try await eventually { programs.views == 0 ? true : nil }
            #expect(programs.wishes < 25, "those that come together are one")
        }
    }

    @Test func whatIsNowhereEndsAtOnce() async throws {
        try await withGateway { gateway, _ in
            let reader = try await ProgramReader.open(gateway.detour(to: "nowhere", of: "demo"))
            try await eventually { reader.isOver ? true : nil }
            #expect(reader.text.isEmpty)
            let path = gateway.detour(to: "t", of: "r").socket
            for line in ["{}", "GET / HTTP/1.1", String(repeating: "x", count: ProgramRequest.longestLine + 1)] {
                let stranger = try await ProgramReader.open(path, line)
                try await eventually { stranger.isOver ? true : nil }
            }
        }
    }

    @Test func thereAreSoManyAtOnce() async throws {
        try await withGateway { gateway, programs in
            var readers: [ProgramReader] = []
            for number in 0..<2 {
                readers.append(try await ProgramReader.open(gateway.detour(to: TaskID("t\(number)"), of: "demo")))
            }
            try await eventually { programs.views == 2 ? true : nil }
            let third = try await ProgramReader.open(gateway.detour(to: "t2", of: "demo"))
            try await eventually { third.isOver ? true : nil }
            #expect(third.text.isEmpty && programs.views == 2)
            readers[0].close()
            try await eventually { programs.views == 1 ? true : nil }
            let fourth = try await ProgramReader.open(gateway.detour(to: "t3", of: "demo"))
            try await eventually { fourth.text == "t3 of demo" ? true : nil }
        }
    }
}

/// A worker at the service's socket for programs.
final class ProgramReader: Sendable {
    private let state = Mutex((bytes: [UInt8](), isOver: false))
    private let channel = Mutex<(any Channel)?>(nil)

    /// Connects as soon as the service listens, and sends the line.
    static func open(_ path: String, _ line: String) async throws -> ProgramReader {
        let reader = ProgramReader()
        let bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ProgramReaderHandler(reader: reader))
                }
            }
        let channel: any Channel = try await eventually {
            try? await bootstrap.connect(unixDomainSocketPath: path).get()
        }
        reader.channel.withLock { $0 = channel }
        reader.send(line)
        return reader
    }

    static func open(_ detour: ProgramDetour) async throws -> ProgramReader {
        try await open(detour.socket, detour.request)
    }

    var bytes: [UInt8] { state.withLock { $0.bytes } }
    var text: String { String(decoding: bytes, as: UTF8.self) }
    /// Whether the connection has ended.
    var isOver: Bool { state.withLock { $0.isOver } }

    func send(_ line: String) {
        channel.withLock { $0 }?.writeAndFlush(ByteBuffer(string: line + "\n"), promise: nil)
    }

    func close() { channel.withLock { $0 }?.close(promise: nil) }

    fileprivate func receive(_ buffer: ByteBuffer) { state.withLock { $0.bytes += buffer.readableBytesView } }
    fileprivate func end() { state.withLock { $0.isOver = true } }
}

private final class ProgramReaderHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let reader: ProgramReader

    init(reader: ProgramReader) { self.reader = reader }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { reader.receive(unwrapInboundIn(data)) }
    func channelInactive(context: ChannelHandlerContext) { reader.end() }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
