import NIOCore
import NIOPosix
import Synchronization

/// Keeps a number of connections busy on one thread. Each sends its next request when it has the answer to the last
/// one, or when the request is due.
final class Load: Sendable {
    struct Result: Sendable {
        var latencies: [Int64] = []
        var statuses: [Int: Int] = [:]
        /// Time from the first request to the last answer, in seconds.
        var seconds: Double = 0
    }

    private let port: Int
    private let connections: Int

    init(port: Int, connections: Int) {
        self.port = port
        self.connections = connections
    }

    /// Sends the same request `count` times.
    func run(_ request: ByteBuffer, count: Int) async throws -> Result {
        let left = Mutex(count)
        return try await run { _ in
            left.withLock { left in
                left -= 1
                return left >= 0 ? request : nil
            }
        }
    }

    /// Sends requests until every connection is done.
    ///
    /// - Parameters:
    ///   - rate: Requests per second of all connections together, evenly spread. A request that is due while its
    ///     connection still waits for an answer is sent after that answer, and its latency counts from its due time.
    ///     `nil` = as fast as answers come.
    ///   - next: Returns the next request of a connection (by its index), or `nil` when it is done. Called on one
    ///     thread.
    func run(rate: Double? = nil, _ next: @escaping @Sendable (Int) -> ByteBuffer?) async throws -> Result {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { group.shutdownGracefully { _ in } }
        let loop = group.next()
        let promise = loop.makePromise(of: Result.self)
        let (connections, port) = (connections, port)
        loop.execute {
            let run = NIOLoopBound(
                Run(
                    promise: promise, connections: connections,
                    interval: rate.map { Int64(Double(connections) / $0 * 1e9) }),
                eventLoop: loop)
            for index in 0..<connections {
                ClientBootstrap(group: loop)
                    .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                    .channelInitializer { channel in
                        channel.eventLoop.makeCompletedFuture {
                            let caller = HTTPCaller()
                            run.value.drive(caller, index) { next(index) }
                            try channel.pipeline.syncOperations.addHandler(caller)
                        }
                    }
                    .connect(host: "127.0.0.1", port: port)
                    .whenComplete { result in
                        switch result {
                        case .success(let channel):
                            channel.pipeline.handler(type: HTTPCaller.self).map { NIOLoopBound($0, eventLoop: loop) }
                                .whenSuccess { caller in run.value.begin(caller.value) { next(index) } }
                        case .failure(let error): promise.fail(error)
                        }
                    }
            }
        }
        return try await promise.futureResult.get()
    }

    /// One run of the load. Confined to the event loop.
    private final class Run {
        private let promise: EventLoopPromise<Result>
        private let connections: Int
        private var open: Int
        private var result = Result()
        private let start = monotonicTime()
        private var sent: [ObjectIdentifier: Int64] = [:]
        /// Time between two requests of one connection, in ns; `nil` = as fast as answers come.
        private let interval: Int64?
        /// Due time of each connection's next request, in ns of CLOCK_MONOTONIC. Used only with an interval.
        private var due: [ObjectIdentifier: Int64] = [:]

        init(promise: EventLoopPromise<Result>, connections: Int, interval: Int64?) {
            self.promise = promise
            self.connections = connections
            open = connections
            self.interval = interval
        }

        func drive(_ caller: HTTPCaller, _ index: Int, next: @escaping () -> ByteBuffer?) {
            let key = ObjectIdentifier(caller)
            if let interval { due[key] = start + interval * Int64(index) / Int64(connections) }
            caller.onAnswer = { [unowned caller] status, time in
                self.result.latencies.append(time - (self.sent[key] ?? time))
                self.result.statuses[status, default: 0] += 1
                self.begin(caller, next: next)
            }
            caller.onClose = {
                self.open -= 1
                guard self.open == 0 else { return }
                self.result.seconds = Double(monotonicTime() - self.start) / 1e9
                self.promise.succeed(self.result)
            }
        }

        func begin(_ caller: HTTPCaller, next: () -> ByteBuffer?) {
            let key = ObjectIdentifier(caller)
            guard let request = next() else { return caller.close() }
            guard let interval, let due = due[key] else { return send(request, on: caller, at: monotonicTime()) }
            self.due[key] = due + interval
            let left = due - monotonicTime()
            guard left > 0 else { return send(request, on: caller, at: due) }
            caller.after(left) { self.send(request, on: caller, at: due) }
        }

        private func send(_ request: ByteBuffer, on caller: HTTPCaller, at time: Int64) {
            sent[ObjectIdentifier(caller)] = time
            caller.send(request)
        }
    }
}
