import EncodedMedia
import Testing

struct PerTrackTests {
    @Test func eachTrackHasAValueOfItsOwn() {
        var values = PerTrack<[Int]>()
        #expect(values[.video] == nil && values[.audio] == nil)
        values[.video] = [1]
        values[.audio]?.append(2)
        values[.video]?.append(3)
        #expect(values.video == [1, 3] && values.audio == nil)
        values.audio = [4]
        #expect(values[.audio] == [4] && values[.video] == [1, 3])
        values[.video] = nil
        #expect(values.video == nil && values.audio == [4])
    }
}
