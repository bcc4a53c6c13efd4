import Testing

@testable import HTTPInterface

@Suite("Entity tags of If-Match")
struct EntityTagsTests {
    @Test("lists are cut at their commas, not at those of a tag")
    func lists() throws {
        #expect(try EntityTags.parse(#""3""#) == [#""3""#])
        #expect(try EntityTags.parse(#" 3 ,"a,b" , W/"c,""#) == ["3", #""a,b""#, #"W/"c,""#])
        #expect(try EntityTags.parse("*") == ["*"])
    }

    @Test("anything else is refused", arguments: ["", ",", #""a"#, #"a"b"#, #""a" "b""#, "*, 3", "x"])
    func refused(text: String) {
        #expect(throws: HTTPProblem.self) { try EntityTags.parse(text) }
    }
}
