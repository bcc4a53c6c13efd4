import Testing

@testable import EncodedMedia
@testable import ProgramRelay

/// The times of transcoded media, which GStreamer counts from 0.
@Suite struct TranscodingTimesTests {
    /// The first header has the time 0, and the first frame 3,000,000 s, which is read as a time before 0.
    @Test func timesThatBeginFarBelowZeroStayApart() {
        let first: Int64 = 3_000_000_000
        for step: Int64 in [0, 40, 80, 1000] {
            let read = MediaTime.milliseconds(Int64(Int32(truncatingIfNeeded: first + step)))
            #expect(read < .zero)
            #expect(TranscodingProgram.pipelineTime(read) == UInt64(first + step) * 1_000_000)
        }
    }

    @Test(arguments: [(0, 0), (40, 40), (-20, 0), (4_294_967_336, 4_294_967_336)] as [(Int64, UInt64)])
    func othersStayWhereTheyAre(milliseconds: Int64, expected: UInt64) {
        #expect(TranscodingProgram.pipelineTime(.milliseconds(milliseconds)) == expected * 1_000_000)
    }
}
