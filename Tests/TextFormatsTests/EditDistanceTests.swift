import TextFormats
import Testing

struct EditDistanceTests {
    @Test(arguments: [
        ("", "", 0), ("", "abc", 3), ("grid", "grid", 0), ("gird", "grid", 1), ("girdle", "grid", 3),
        ("grd", "grid", 1),
        ("kitten", "sitting", 3), ("ab", "ba", 1), ("abcdef", "badcfe", 3),
    ])
    func distanceIsTheNumberOfEdits(left: String, right: String, edits: Int) {
        #expect(EditDistance.between(Array(left.utf8), Array(right.utf8)) == edits)
        #expect(EditDistance.between(Array(right), Array(left)) == edits)
    }
}
