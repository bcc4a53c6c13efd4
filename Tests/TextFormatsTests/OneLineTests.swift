import Testing

@testable import TextFormats

@Suite struct OneLineTests {
    @Test(arguments: [
        ("plain \"text\" \\ caf\u{E9}", "plain \"text\" \\ caf\u{E9}"), ("a\nb\r\nc\td", #"a\nb\r\nc\td"#),
        ("\u{1B}[31m\u{0}", #"\u001b[31m\u0000"#), ("\u{85}x\u{2028}y\u{2029}", #"\u0085x\u2028y\u2029"#),
        ("\n\u{301}", "\\n\u{301}"), ("", ""),
    ])
    func nothingBeginsAnotherLine(_ text: String, _ line: String) {
        #expect(OneLine.of(text).utf8.elementsEqual(line.utf8))
    }
}
