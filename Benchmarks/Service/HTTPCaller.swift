import Foundation
import NIOCore
import NIOPosix

/// One keep-alive connection of HTTP/1.1 with one request under way at a time. As little work as can be: what the load
/// generator uses is missing to the service on the same cores. Confined to its event loop.
final class HTTPCaller: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// A whole answer: its status and when it was there, in ns of CLOCK_MONOTONIC.
    var onAnswer: (Int, Int64) -> Void = { _, _ in }
    /// The connection ended.
    var onClose: () -> Void = {}

    private var context: ChannelHandlerContext?
    private var received = ByteBuffer()

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func send(_ request: ByteBuffer) {
        context?.writeAndFlush(NIOAny(request), promise: nil)
    }

    func close() { context?.close(promise: nil) }

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

    /// Takes one answer off what was received.
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

    /// One request on a connection of its own.
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

/// In ns.
func monotonicTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
