import Foundation
import NIOCore
import NIOPosix
import Testing

@testable import MixOrchestrator
@testable import RoomService

@Suite struct ListenAddressTests {
    /// A loopback address that no other test uses: they choose ports of 127.0.0.1 meanwhile.
    private static let host = "127.7.7.7"

    private static func address(_ port: Int, host: String = Self.host) throws -> ListenAddress {
        try ListenAddress("\(host):\(port)", key: "http.listen", hasTokens: true)
    }

    /// Listens on a free port for the length of `body`.
    private func withListener<Value>(_ body: (Int) throws -> Value) async throws -> Value {
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: Self.host, port: 0).get()
        let result = Result { try body(try #require(listener.localAddress?.port)) }
        try await listener.close()
        return try result.get()
    }

    @Test func aPortThatIsListenedOnIsNamedWithTheCure() async throws {
        try await withListener { port in
            let error = #expect(throws: StartupError.self) { try Self.address(port).check() }
            let message = "\(try #require(error))"
            #expect(message.contains("port \(port) on \(Self.host) is in use") && message.contains("--listen"))
        }
    }

    @Test func anAddressOfAnotherMachineIsNamed() throws {
        // TEST-NET-3 (RFC 5737).
        let error = #expect(throws: StartupError.self) { try Self.address(8080, host: "203.0.113.7").check() }
        let message = "\(try #require(error))"
        #expect(message.hasPrefix("cannot listen on 203.0.113.7:8080: "))
    }

    /// A connection that the kernel accepts before the service runs would never be answered.
    @Test func nobodyCanConnectToAPortThatIsOnlyChecked() async throws {
        let free = try await withListener { $0 }
        let address = try Self.address(free)
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                var connected = 0
                while !Task.isCancelled {
                    let channel = try? await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                        .connect(host: Self.host, port: free).get()
                    guard let channel else { continue }
                    connected += 1
                    try? await channel.close()
                }
                return connected
            }
            for _ in 0..<20_000 {
                try address.check()
                await Task.yield()
            }
            group.cancelAll()
            #expect(try await group.next() == 0)
        }
    }
}
