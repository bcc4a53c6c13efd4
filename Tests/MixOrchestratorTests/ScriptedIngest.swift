import Foundation
import MixModel
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import RoomService

/// An ingest that speaks the protocol on a real unix socket, with the publishers that the test adds.
final class ScriptedIngest: Sendable {
    private struct State {
        var server: (any Channel)?
        var connection: (any Channel)?
        var requests = 0
        var commands: [IngestCommand] = []
    }
    private let state = Mutex(State())

    /// Listens in a node's data directory, so that its service starts no ingest.
    init(data: String) async throws {
        try FileManager.default.createDirectory(atPath: data + "/ingest", withIntermediateDirectories: true)
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(IngestHandler(ingest: self))
                }
            }
            .bind(unixDomainSocketPath: data + "/ingest/ingest.sock").get()
        state.withLock { $0.server = server }
    }

    func close() {
        let (server, connection) = state.withLock { ($0.server, $0.connection) }
        server?.close(promise: nil)
        connection?.close(promise: nil)
    }

    var commands: [IngestCommand] { state.withLock { $0.commands } }

    /// The decision on a publisher; a refusal contains its reason.
    enum Verdict: Hashable {
        case allowed(session: String, stream: String)
        case refused(String)
    }

    /// Publishes under this stream key. Returns when the service has decided.
    ///
    /// - Parameter isOutput: Whether the publisher declares that it is a relay of this service.
    func publish(
        _ name: String, to application: String = "live", query: String = "", isOutput: Bool? = nil
    ) async throws -> Verdict {
        try await eventually { self.state.withLock { $0.connection } }
        let number = state.withLock { state in
            state.requests += 1
            return state.requests
        }
        let session = "s-\(number)"
        report(
            .ask(
                IngestRequest(
                    request: number, isPublish: true, application: application, name: name, query: query,
                    address: "127.0.0.1", session: session, isOutput: isOutput)))
        return try await eventually {
            for command in self.commands {
                switch command {
                case .allow(number, session, let stream): return .allowed(session: session, stream: stream)
                case .refuse(number, _, let reason): return .refused(reason)
                default: break
                }
            }
            return nil
        }
    }

    /// Someone plays. Returns what the service has decided.
    func play(_ name: String, of application: String) async throws -> IngestCommand {
        try await eventually { self.state.withLock { $0.connection } }
        let number = state.withLock { state in
            state.requests += 1
            return state.requests
        }
        report(
            .ask(
                IngestRequest(
                    request: number, isPublish: false, application: application, name: name, query: "",
                    address: "127.0.0.1", session: "s-\(number)")))
        return try await eventually {
            self.commands.first { command in
                switch command {
                case .allowProgram(number, _, _, _, _), .refuse(number, _, _): true
                default: false
                }
            }
        }
    }

    func report(_ report: IngestReport) {
        guard let channel = state.withLock({ $0.connection }) else { return }
        Self.send(report, on: channel)
    }

    fileprivate func receive(_ command: IngestCommand, on channel: any Channel) {
        state.withLock { $0.commands.append(command) }
        guard case .hello = command else { return }
        for report in [IngestReport.hello(version: IngestCommand.version, process: getpid()), .synced] {
            Self.send(report, on: channel)
        }
        state.withLock { $0.connection = channel }
        channel.eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { task in
            guard channel.isActive else { return task.cancel() }
            Self.send(.figures(IngestFigures()), on: channel)
        }
    }

    private static func send(_ report: IngestReport, on channel: any Channel) {
        guard var line = try? JSONEncoder().encode(report) else { return }
        line.append(UInt8(ascii: "\n"))
        channel.writeAndFlush(ByteBuffer(bytes: line), promise: nil)
    }
}

private final class IngestHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let ingest: ScriptedIngest
    private var lines = LineSplitter(limit: IngestCommand.longestLine)

    init(ingest: ScriptedIngest) { self.ingest = ingest }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        for line in (try? lines.append(buffer.readableBytesView)) ?? [] {
            guard let command = try? JSONDecoder().decode(IngestCommand.self, from: Data(line)) else { continue }
            ingest.receive(command, on: context.channel)
        }
    }
}
