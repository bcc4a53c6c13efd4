import TestSupport
import Testing

extension WCSTests {
    /// A client that begins many streams at once gets all of them, but no process for each at once.
    @Test func streamsThatBeginTogetherWaitForTheirTurns() async throws {
        try await WCSStage.run { stage in
            let client = try await stage.enter()
            let start = ContinuousClock.now
            for number in 1...16 {
                let stream = WCSStage.stream("id-\(number)", "user\(number)#lobby", WCSStage.offer)
                await client.send("publishStream", stream)
            }
            try await eventually { stage.door.opened.count == 16 ? true : nil }
            // Five begin at once, and eleven at five per second.
            #expect(ContinuousClock.now - start >= .seconds(2))
        }
    }
}
