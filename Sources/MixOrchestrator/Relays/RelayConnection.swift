import Foundation
import MixModel
import NIOCore
import NIOPosix
import ServiceLifecycle

/// One connection to a relay's unix socket.
struct RelayConnection: Sendable {
    typealias AsyncChannel = NIOAsyncChannel<ByteBuffer, ByteBuffer>
    private let channel: AsyncChannel

    /// A relay sends a status at least once a second; one that is silent for this many hangs.
    static let silenceLimit = 15
    /// Longest line accepted, in bytes.
    static let longestLine = 1 << 20

    /// - Throws: `NIOConnectionError` or `IOError` when nobody listens there.
    static func open(path: String) async throws -> RelayConnection {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connectTimeout(.seconds(2))
            .connect(unixDomainSocketPath: path) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try AsyncChannel(
                        wrappingChannelSynchronously: channel,
                        configuration: .init(
                            backPressureStrategy: .init(lowWatermark: 2, highWatermark: 10),
                            isOutboundHalfClosureEnabled: false))
                }
            }
        return RelayConnection(channel: channel)
    }

    /// Nothing was asked.
    func close() async { try? await channel.executeThenClose { _, _ in } }

    /// Says hello, sends `commands` as they come and hands over the relay's reports, until the relay closes the
    /// connection (returns), stays silent too long, `onReport` throws or the task is cancelled (throws). The first command
    /// is sent when the relay has said who it is and `onReport` had nothing against it.
    func control(
        commands: AsyncStream<RelayCommand>, onReport: @escaping @Sendable (RelayReport) throws -> Void
    ) async throws {
        try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(Self.line(.hello(version: RelayCommand.version)))
            let silence = Silence()
            let (acceptance, accept) = AsyncStream.makeStream(of: Void.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await _ in acceptance {}
                    try Task.checkCancellation()
                    for await command in commands { try await outbound.write(Self.line(command)) }
                    // The owner sends nothing more; the relay ends the connection.
                    try await Task.sleep(for: .seconds(86_400 * 365))
                }
                group.addTask {
                    var lines = LineSplitter(limit: Self.longestLine)
                    for try await buffer in inbound {
                        silence.end()
                        for line in try lines.append(buffer.readableBytesView) {
                            let report = try Self.report(line)
                            try onReport(report)
                            if case .status = report { accept.finish() }
                        }
                    }
                }
                group.addTask {
                    // Seconds are counted, not subtracted: after this process was stopped for a while, what the relay
                    // said meanwhile is read before it is given up.
                    while silence.add() < Self.silenceLimit { try await Task.sleep(for: .seconds(1)) }
                    throw RelayError.silent
                }
                defer { group.cancelAll() }
                // The reader is the one that ends by itself.
                try await group.next()
            }
        }
    }

    /// Asks for the program and hands over its FLV bytes until the program ends. The relay is not read faster than
    /// `onBytes` returns. Ends when the service shuts down.
    func viewFLV(_ onBytes: (ByteBuffer) async throws -> Void) async throws {
        try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(Self.line(.viewFLV))
            for try await buffer in inbound.cancelOnGracefulShutdown() { try await onBytes(buffer) }
        }
    }

    private static func line(_ command: RelayCommand) throws -> ByteBuffer {
        var buffer = ByteBuffer(bytes: try JSONEncoder().encode(command))
        buffer.writeInteger(UInt8(ascii: "\n"))
        return buffer
    }

    private static func report(_ line: [UInt8]) throws -> RelayReport {
        do {
            return try JSONDecoder().decode(RelayReport.self, from: Data(line))
        } catch {
            throw RelayError.protocolViolation("a line that is no report: \(error)")
        }
    }
}

/// Why a relay could not be reached or used.
enum RelayError: Error, CustomStringConvertible {
    case silent
    case refused(String)
    case wrongTask(TaskID)
    case protocolViolation(String)
    case notStarted(String)

    var description: String {
        switch self {
        case .silent: "no status from it for \(RelayConnection.silenceLimit) s"
        case .refused(let reason): "it refused the connection: \(reason)"
        case .wrongTask(let task): "the socket belongs to the relay of \(task)"
        case .protocolViolation(let what): "it does not keep to the protocol: \(what)"
        case .notStarted(let reason): reason
        }
    }
}

/// Cuts a byte stream into lines.
struct LineSplitter {
    private var rest: [UInt8] = []
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// - Throws: When a line grows beyond the limit.
    mutating func append(_ bytes: some Collection<UInt8>) throws -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var remaining = bytes[...]
        while let end = remaining.firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(rest + remaining[..<end])
            rest = []
            remaining = remaining[remaining.index(after: end)...]
        }
        rest += remaining
        guard rest.count <= limit else { throw RelayError.protocolViolation("a line of more than \(limit) bytes") }
        return lines.filter { !$0.isEmpty }
    }
}
