import Foundation
import NIOCore
import NIOPosix

/// A keep-alive connection of HTTP/1.1 with one request under way at a time. Confined to its event loop.
///
/// It does as little work as possible, because it takes processor time from the service on the same cores.
final class HTTPCaller: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// Called for each whole answer, with its status and its time of arrival in ns of CLOCK_MONOTONIC.
    var onAnswer: (Int, Int64) -> Void = { _, _ in }
    /// Called when the connection has ended.
    var onClose: () -> Void = {}

    private var context: ChannelHandlerContext?
    private var received = ByteBuffer()

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func send(_ request: ByteBuffer) {
        context?.writeAndFlush(NIOAny(request), promise: nil)
    }

    func close() { context?.close(promise: nil) }

    /// Calls `perform` on the event loop after a delay.
    ///
    /// - Parameter delay: In ns.
    func after(_ delay: Int64, _ perform: @escaping () -> Void) {
        context?.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay), perform)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        if received.readableBytes == 0 { received = buffer } else { received.writeBuffer(&buffer) }
        while let status = nextAnswer() { onAnswer(status, monotonicTime()) }
    }

    func channelInactive(context: ChannelHandlerContext) { onClose() }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Takes one answer off the received bytes and returns its status.
    private func nextAnswer() -> Int? {
        let answer = received.withUnsafeReadableBytes { bytes -> (status: Int, length: Int)? in
            guard bytes.count > 12, let head = Self.endOfHead(bytes) else { return nil }
            let length = head + Self.contentLength(bytes[..<head])
            guard bytes.count >= length else { return nil }
            let status = bytes[9..<12].reduce(0) { $0 * 10 + Int($1) - 48 }
            return (status, length)
        }
        guard let answer else { return nil }
        received.moveReaderIndex(forwardBy: answer.length)
        return answer.status
    }

    private static func endOfHead(_ bytes: UnsafeRawBufferPointer) -> Int? {
        for index in 3..<bytes.count where bytes[index] == 0x0A && bytes[index - 2] == 0x0A { return index + 1 }
        return nil
    }

    private static func contentLength(_ head: Slice<UnsafeRawBufferPointer>) -> Int {
        guard let start = head.base.baseAddress?.assumingMemoryBound(to: CChar.self),
            let found = strstr(start, "ontent-")?.advanced(by: 7)
        else { return 0 }
        // Content-Type and Content-Length begin alike.
        let isLength = found.pointee | 0x20 == 0x6C
        guard let name = isLength ? found : strstr(found, "ontent-")?.advanced(by: 7) else { return 0 }
        return Int(strtol(name + 7, nil, 10))
    }

    // MARK: - Requests

    static func request(_ method: String, _ path: String, type: String = "application/json", _ body: String = "")
        -> ByteBuffer
    {
        let content = body.isEmpty ? "" : "Content-Type: \(type)\r\n"
        return ByteBuffer(
            string:
                "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(content)Content-Length: \(body.utf8.count)\r\n\r\n"
                + body)
    }

    /// Sends one request on a connection of its own.
    ///
    /// - Returns: The answer's status.
    static func answer(port: Int, _ request: ByteBuffer) async throws -> Int {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: Int.self)
        ClientBootstrap(group: loop).connectTimeout(.seconds(2))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let caller = HTTPCaller()
                    caller.onAnswer = { status, _ in
                        promise.succeed(status)
                        caller.close()
                    }
                    caller.onClose = { promise.fail(ChannelError.eof) }
                    try channel.pipeline.syncOperations.addHandler(caller)
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .whenComplete { result in
                switch result {
                case .success(let channel): channel.writeAndFlush(request, promise: nil)
                case .failure(let error): promise.fail(error)
                }
            }
        return try await promise.futureResult.get()
    }
}

/// Returns the time of CLOCK_MONOTONIC in ns.
func monotonicTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
