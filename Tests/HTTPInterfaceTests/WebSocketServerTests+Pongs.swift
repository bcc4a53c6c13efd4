import TestSupport
import Testing

@testable import HTTPInterface

extension WebSocketServerTests {
    /// The answers to a client that pings and does not read do not fill memory.
    @Test func onlyTheLastOfManyPingsIsAnswered() async throws {
        let seen = Counter()
        // More than the buffers of two sockets hold.
        let text = String(repeating: "x", count: 12_000_000)
        try await withServer { limits, _, _ in
            limits.outgoing = 20_000_000
        } serve: { socket in
            await socket.forEach { message in
                if message == .text("fill") { socket.send(text) }
                seen.increment()
            }
        } _: { stage in
            @Sendable func areSeen(_ count: Int) async throws -> Bool {
                try await poll(within: .seconds(60), every: .milliseconds(5)) { seen.value == count ? true : nil }
                    == true
            }
            let client = try await stage.open(receiveBuffer: 4096)
            await client.send(text: "fill")
            #expect(try await areSeen(1))
            // Once this is seen, the connection has begun to write.
            await client.send(text: "written")
            #expect(try await areSeen(2))
            let pings = (0..<1000).map { WebSocketClient.frame(0x89, [UInt8($0 >> 8), UInt8($0 & 255)]) }
            await client.send(raw: pings.flatMap { $0 } + WebSocketClient.frame(0x81, "pinged".utf8))
            #expect(try await areSeen(3))
            #expect(await client.next()?.payload.count == text.utf8.count)
            var pongs: [[UInt8]] = []
            while pongs.last != [3, 231], let frame = await client.next() { pongs.append(frame.payload) }
            #expect(pongs.last == [3, 231] && pongs.count < 10, "\(pongs.count)")
        }
    }
}
