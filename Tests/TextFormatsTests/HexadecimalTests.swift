import Testing

@testable import TextFormats

struct HexadecimalTests {
    /// The examples of RFC 4648 §10, in lower case.
    @Test(arguments: [("", ""), ("f", "66"), ("fo", "666f"), ("foobar", "666f6f626172"), ("\u{7F}\u{0}\n", "7f000a")])
    func bothWays(text: String, digits: String) {
        #expect(Hexadecimal.text(text.utf8) == digits)
        #expect(Hexadecimal.bytes(digits) == Array(text.utf8))
    }

    @Test func everyByteComesBack() {
        let bytes = Array(UInt8.min ... .max)
        #expect(Hexadecimal.bytes(Hexadecimal.text(bytes)) == bytes)
        #expect(Hexadecimal.bytes(Hexadecimal.text(bytes).uppercased()) == bytes)
    }

    @Test(arguments: ["0", "abc", "0g", "+1", " 1", "0x", "١٢", "a\u{301}b"])
    func anythingElseIsNone(text: String) {
        #expect(Hexadecimal.bytes(text) == nil)
    }
}
