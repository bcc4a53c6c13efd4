import Foundation
import MixModel
import NIOCore
import NIOPosix
import ServiceLifecycle
import TextFormats

/// One connection to a relay's unix socket.
struct RelayConnection: Sendable {
    typealias AsyncChannel = NIOAsyncChannel<ByteBuffer, ByteBuffer>
    private let socket: Socket

    /// Closes the connection when the last reference to it is gone: a viewer may leave before the first byte.
    private final class Socket: Sendable {
        let channel: any Channel
        init(_ channel: any Channel) { self.channel = channel }
        deinit { channel.close(promise: nil) }
    }

    /// Longest line accepted, in bytes.
    static let longestLine = 1 << 20

    /// - Throws: `NIOConnectionError` or `IOError` when no process listens there.
    static func open(path: String) async throws -> RelayConnection {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connectTimeout(.seconds(2))
            // Nothing is read until there is a reader.
            .channelOption(.autoRead, value: false)
            .connect(unixDomainSocketPath: path).get()
        return RelayConnection(socket: Socket(channel))
    }

    /// Creates the asynchronous channel for its user. It must not be created earlier, because a channel has to be used
    /// once it exists.
    private func asyncChannel() async throws -> AsyncChannel {
        let channel = socket.channel
        return try await channel.eventLoop.submit {
            let asyncChannel = try AsyncChannel(
                wrappingChannelSynchronously: channel,
                configuration: .init(
                    backPressureStrategy: .init(lowWatermark: 2, highWatermark: 10),
                    isOutboundHalfClosureEnabled: false))
            try channel.syncOptions?.setOption(.autoRead, value: true)
            return asyncChannel
        }.get()
    }

    /// The process at the other end; 0 when the system does not report it.
    var peerProcess: Int32 {
        get async {
            guard let provider = socket.channel as? any SocketOptionProvider else { return 0 }
            let answer: EventLoopFuture<PeerCredentials> = provider.unsafeGetSocketOption(
                level: .socket, name: .init(rawValue: SO_PEERCRED))
            return (try? await answer.get().process) ?? 0
        }
    }

    /// `struct ucred` (unix(7)).
    private struct PeerCredentials {
        var process: Int32
        var user: UInt32
        var group: UInt32
    }

    /// Closes a connection that was not used for a request.
    func close() async { try? await socket.channel.close() }

    /// Says hello, sends `commands` as they arrive, and passes the relay's reports to `onReport`. Returns when the
    /// relay closes the connection.
    ///
    /// The first command is sent when the relay has reported its status and `onReport` has accepted it. `onSent` is
    /// called with each command that was written.
    ///
    /// - Throws: An error when the relay is silent for too long, `onReport` throws, or the task is cancelled.
    func control(
        commands: AsyncStream<RelayCommand>, onSent: @escaping @Sendable (RelayCommand) -> Void = { _ in },
        onReport: @escaping @Sendable (RelayReport) throws -> Void
    ) async throws {
        let watch = ReportWatch(process: await peerProcess)
        try await asyncChannel().executeThenClose { inbound, outbound in
            try await outbound.write(Self.line(.hello(version: RelayCommand.version)))
            let (acceptance, accept) = AsyncStream.makeStream(of: Void.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await _ in acceptance {}
                    try Task.checkCancellation()
                    for await command in commands {
                        if case .drain = command { watch.ends() }
                        try await outbound.write(Self.line(command))
                        onSent(command)
                    }
                    // The owner sends nothing more; the relay will close the connection.
                    try await Task.sleep(for: .seconds(86_400 * 365))
                }
                group.addTask {
                    var lines = LineSplitter(limit: Self.longestLine)
                    for try await buffer in inbound {
                        watch.heard()
                        for line in try lines.append(buffer.readableBytesView) {
                            let report = try Self.report(line)
                            try onReport(report)
                            if case .status = report { accept.finish() }
                        }
                    }
                }
                group.addTask { try await watch.run() }
                defer { group.cancelAll() }
                // Only the reader ends by itself.
                try await group.next()
            }
        }
    }

    /// Sends `lines` as they arrive and passes the worker's lines to `onLine`. Returns when the worker closes the
    /// connection.
    ///
    /// - Throws: An error when the worker is silent for too long, `onLine` throws, or the task is cancelled.
    func exchange(
        _ lines: AsyncStream<ByteBuffer>, longestLine: Int, onLine: @escaping @Sendable ([UInt8]) throws -> Void
    ) async throws {
        let watch = ReportWatch()
        try await asyncChannel().executeThenClose { inbound, outbound in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await line in lines { try await outbound.write(line) }
                    // Nothing more is sent; the worker will close the connection.
                    try await Task.sleep(for: .seconds(86_400 * 365))
                }
                group.addTask {
                    var splitter = LineSplitter(limit: longestLine)
                    for try await buffer in inbound {
                        watch.heard()
                        for line in try splitter.append(buffer.readableBytesView) { try onLine(line) }
                    }
                }
                group.addTask { try await watch.run() }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    /// Requests the program and passes its FLV bytes to `onBytes` until the program ends or the service shuts down.
    /// Does not read faster than `onBytes` returns.
    func viewFLV(_ onBytes: (ByteBuffer) async throws -> Void) async throws {
        try await asyncChannel().executeThenClose { inbound, outbound in
            try await outbound.write(Self.line(.viewFLV(layouts: true)))
            for try await buffer in inbound.cancelOnGracefulShutdown() { try await onBytes(buffer) }
        }
    }

    /// Asks for a keyframe of the program, and closes the connection.
    func requestKeyframe() async throws {
        try await asyncChannel().executeThenClose { _, outbound in
            try await outbound.write(Self.line(.requestKeyframe))
        }
    }

    /// Requests previews, one after another, and returns an FLV stream for each; the stream is empty when there is no
    /// preview.
    ///
    /// - Throws: `RelayError` when the relay does not answer within `limit`, or runs a release without previews.
    func previews(_ requests: [(source: SourceID?, picture: Bool)], within limit: Duration) async throws -> [[UInt8]] {
        try await withThrowingTaskGroup(of: [[UInt8]].self) { group in
            group.addTask {
                try await asyncChannel().executeThenClose { inbound, outbound in
                    for request in requests {
                        try await outbound.write(Self.line(.preview(of: request.source, picture: request.picture)))
                    }
                    var answers = PreviewAnswers(count: requests.count)
                    for try await buffer in inbound {
                        if try answers.take(buffer.readableBytesView) { break }
                    }
                    return try answers.all()
                }
            }
            group.addTask {
                try await Task.sleep(for: limit)
                throw RelayError.silent("no answer within \(limit)")
            }
            defer { group.cancelAll() }
            return try await group.next() ?? []
        }
    }

    private static func line(_ command: RelayCommand) throws -> ByteBuffer {
        var buffer = ByteBuffer(string: try command.document())
        buffer.writeInteger(UInt8(ascii: "\n"))
        return buffer
    }

    private static func report(_ line: [UInt8]) throws -> RelayReport {
        do {
            return try JSONDecoder().decode(RelayReport.self, from: Data(line)).bounded
        } catch {
            throw RelayError.protocolViolation("a line that is not a report: \(error)")
        }
    }
}

/// The reason why a relay could not be reached or used.
package enum RelayError: Error, CustomStringConvertible {
    /// Nothing has arrived for too long, as described.
    case silent(String)
    case refused(String)
    case wrongTask(TaskID)
    case protocolViolation(String)
    case notStarted(String)

    package var description: String {
        switch self {
        case .silent(let reason): reason
        case .refused(let reason): "it refused the connection: \(reason)"
        case .wrongTask(let task): "the socket belongs to the relay of \(task)"
        case .protocolViolation(let what): "it violates the protocol: \(what)"
        case .notStarted(let reason): reason
        }
    }
}

/// Cuts a byte stream into lines. A line that is too long violates the protocol.
struct LineSplitter {
    private let limit: Int
    private var lines: LineBuffer

    /// - Parameter limit: The longest line, in bytes.
    init(limit: Int) {
        self.limit = limit
        lines = LineBuffer(limit: limit)
    }

    /// Returns the lines that end in `bytes`, except for empty ones.
    ///
    /// - Throws: `RelayError` if a line is longer than the limit.
    mutating func append(_ bytes: some Collection<UInt8>) throws -> [[UInt8]] {
        guard let complete = lines.push(Array(bytes)) else {
            throw RelayError.protocolViolation("a line of more than \(limit) bytes")
        }
        return complete.filter { !$0.isEmpty }
    }
}
