import Testing

@testable import EncodedMedia

@Suite struct LogLimitTests {
    @Test func oneLineASecondIsPermitted() {
        var limit = LogLimit()
        let times: [(Int64, Bool)] = [
            (5, true), (5, false), (1_000_000_004, false), (1_000_000_005, true), (1_500_000_000, false),
            (9_000_000_000, true), (.max, true),
        ]
        for (time, isPermitted) in times {
            #expect(limit.permitsLine(at: time) == isPermitted, "at \(time) ns")
        }
    }
}
