import Foundation
import Synchronization
import TestSupport
import Testing

@testable import RTMP

/// The dialler with real sockets on loopback. A full queue of connections behaves like a lost packet: the kernel does
/// not answer.
@Suite struct TCPDiallerTests {
    private final class Box: @unchecked Sendable { var dialler: TCPDialler? }

    private static func dial(
        _ addresses: [SocketAddress], timeout: Double = 5, whilePending: @escaping @Sendable () -> Void = {}
    ) async -> Result<Int32, ConnectionFault> {
        let box = Box()
        return await withCheckedContinuation { continuation in
            SocketLoop.shared.perform {
                let dialler = TCPDialler(loop: .shared, timeout: Int64(timeout * 1e9)) { result in
                    continuation.resume(returning: result)
                    SocketLoop.shared.perform { box.dialler = nil }
                }
                box.dialler = dialler
                dialler.dial(addresses)
                whilePending()
            }
        }
    }

    private static func address(_ port: Int) throws -> SocketAddress {
        try #require(try SocketAddress.resolve(host: "127.0.0.1", port: UInt16(port), isNumeric: true).first)
    }

    @Test func aServerThatIsThereIsReachedAndNobodyElseStays() async throws {
        let server = try RTMPOddServer()
        defer { server.stop() }
        let socket = try await Self.dial([try Self.address(1), try Self.address(server.port)]).get()
        close(socket)
        #expect(try await outputEventually { server.accepted == 1 && server.hungUp == 1 })
    }

    @Test func theLastRefusalIsTold() async throws {
        guard case .failure(let fault) = await Self.dial([try Self.address(1)]) else {
            Issue.record("port 1 answers")
            return
        }
        #expect(fault == ConnectionFault(.refused, "Connection refused"))
        #expect(await Self.dial([]) == .failure(ConnectionFault(.unresolvable, "no address")))
    }

    @Test func aServerThatAnswersNothingIsGivenUpInTime() async throws {
        let server = try DeafListener()
        let start = ContinuousClock.now
        #expect(
            await Self.dial([try Self.address(server.port)], timeout: 1)
                == .failure(ConnectionFault(.timedOut, "timed out")))
        print("TCP attempt that nothing answers: given up after \(ContinuousClock.now - start)")
    }

    /// An address that cannot even be tried, like one of IPv6 on a machine without it, leaves the others their limit.
    @Test func anAddressThatCannotBeTriedDoesNotEndTheTimeLimit() async throws {
        let server = try DeafListener()
        let none = SocketAddress(storage: sockaddr_storage(), length: socklen_t(MemoryLayout<sockaddr_storage>.size))
        #expect(
            await Self.dial([try Self.address(server.port), none], timeout: 1)
                == .failure(ConnectionFault(.timedOut, "timed out")))
        withExtendedLifetime(server) {}
    }

    /// The kernel retries after 1 s, 3 s and 7 s; the dialler after half a second each.
    @Test func aServerThatAnswersAgainIsFoundSoon() async throws {
        let server = try DeafListener()
        let freedAt = Mutex(ContinuousClock.now)
        async let result = Self.dial([try Self.address(server.port)], timeout: 10)
        try await Task.sleep(for: .milliseconds(3_300))
        freedAt.withLock { $0 = .now }
        server.acceptAll()
        let socket = try await result.get()
        close(socket)
        print("TCP server that answers again: connected after \(ContinuousClock.now - freedAt.withLock { $0 })")
    }
}

/// Listens with a full queue, so that the kernel drops incoming packets.
///
/// `@unchecked Sendable`: one test owns it, and uses it sequentially.
private final class DeafListener: @unchecked Sendable {
    private let acceptor: LoopbackAcceptor
    private var fillers: [Int32] = []

    var port: Int { acceptor.port }

    init() throws {
        acceptor = LoopbackAcceptor(try LoopbackListener(queue: 0))
        // One more than the queue holds; the last ones hang.
        for _ in 0..<3 {
            let filler = socket(
                AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            LoopbackListener.connect(filler, to: port)
            fillers.append(filler)
        }
    }

    func acceptAll() {
        for filler in fillers { close(filler) }
        fillers = []
        listen(acceptor.listener.descriptor, 64)
        acceptor.start { close($0) }
    }

    deinit {
        acceptor.stop()
        for filler in fillers { close(filler) }
    }
}
