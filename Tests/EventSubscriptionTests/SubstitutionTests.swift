import Testing

@testable import EventSubscription

/// The substitution of values into URL templates.
@Suite struct SubstitutionTests {
    @Test(arguments: [
        ("rtmp://host/live/{room}", "rtmp://host/live/a%2Fb%20%C3%A9"),
        ("{app}{room}{app}", "default" + "a%2Fb%20%C3%A9" + "default"),
        ("rtmp://host/live", "rtmp://host/live"), ("{unknown}/{app}", "{unknown}/default"), ("{app", "{app"),
        ("{{app}}", "{default}"), ("}{app}{", "}default{"), ("{}", "{}"), ("", ""), ("é{app}é", "édefaulté"),
    ])
    func namesInBracesAreReplaced(template: String, expected: String) {
        #expect(EventParser.substitute(template, ["app": "default", "room": "a/b é"]) == expected)
    }

    @Test func valuesAreNotTemplates() {
        #expect(EventParser.substitute("{app}", ["app": "{room}", "room": "x"]) == "%7Broom%7D")
    }

    @Test func unreservedCharactersStay() {
        let text = "AZaz09-._~"
        #expect(EventParser.substitute("{room}", ["room": text]) == text)
    }

    @Test(arguments: [
        "a b", "a\tb", "a\u{7F}b", "a/b", "a?b", "a#b", "a%b", "a\\b", "é b", "é/b", "é\u{2028}", ".", "..", "",
    ])
    func namesWithOtherCharactersAreRefused(text: String) {
        #expect(throws: InputError.self) { try EventParser.identifier(text, field: "room") }
    }

    @Test(arguments: ["a", "A-z_0.9~!$&'()*+,;=:@", "été", "部屋", "a.."])
    func namesAreTaken(text: String) throws {
        #expect(try EventParser.identifier(text, field: "room") == text)
    }
}
