import Foundation
import TestSupport
import Testing

@testable import TextFormats

@Suite struct URLRedactionTests {
    @Test(arguments: [
        ("rtmp://cdn.example/live/sk_abc123", "rtmp://cdn.example/live/***"),
        ("rtmp://cdn.example:1935/live/room?auth_key=17-0-0-ff", "rtmp://cdn.example:1935/live/***"),
        ("rtmps://user:pass@cdn.example/app/deep/key", "rtmps://cdn.example/app/***"),
        ("rtmp://cdn.example/live", "rtmp://cdn.example/***"),
        ("rtmp://cdn.example", "rtmp://cdn.example"),
        ("", ""),
    ])
    func aURLIsShownWithoutItsSecrets(url: String, shown: String) {
        #expect(URLRedaction(url).url == shown)
    }

    @Test func wordsOfTheServerLoseTheSecretsToo() {
        let url = "rtmp://user:pass@cdn.example/live/room42?auth_key=1700-ab-0-ffee&x=1"
        let redaction = URLRedaction(url)
        for text in [
            "cannot open \(url) (refused)", "stream 'room42?auth_key=1700-ab-0-ffee&x=1' is busy",
            "room42 denied", "bad key 1700-ab-0-ffee", "pass rejected",
        ] {
            let clean = redaction.clean(text)
            for secret in ["room42", "1700-ab-0-ffee", "pass"] { #expect(!clean.contains(secret), "\(clean)") }
        }
        #expect(redaction.clean("connection refused by cdn.example") == "connection refused by cdn.example")
    }

    @Test func textOfManyPiecesIsShownAsTheReferenceShowsIt() {
        let pieces = [
            "rtmp://", "http", "git+ssh", ":", "/", "//", "://", "host", "10.0.0.1", "[::1]", "[", "]", "live", "key",
            "@",
            "user:pass@", "?", "#", "a=b&", " ", "\"", "'", "(", ")", "<", ">", "{", "}", ",", ";", "|", "`", ".", "!",
            "1935", ":1935", "*", "\n", "\t", "-", "_", "+",
        ]
        var random = SeededGenerator(announcedFor: "URLRedactionTests")
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 1...14, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }.joined()
            #expect(URLRedaction.redact(text) == ReferenceURLRedaction.redact(text), "\(text)")
            #expect(URLRedaction.shown(text) == ReferenceURLRedaction.shown(text), "\(text)")
            let url = "rtmp://u:pw@host/live/" + text
            #expect(URLRedaction(url).url == ReferenceURLRedaction(url).url, "\(text)")
            let words = "\(text) \(url) \(text)"
            #expect(URLRedaction(url).clean(words) == ReferenceURLRedaction(url).clean(words), "\(text)")
        }
    }

    /// A combining mark behind a slash or a quotation mark makes another Character, but the bytes are the same.
    @Test func combiningMarksHideNoURLAndNoSecret() {
        #expect(URLRedaction.redact("rtmp://\u{301}host/live/key1") == "rtmp://***/live/***")
        #expect(URLRedaction.redact("x rtmp://host/\u{301}live/key1 y") == "x rtmp://host/\u{301}live/*** y")
        #expect(URLRedaction.redact("é\u{A0}rtmp://host/live/key1\u{2003}y") == "é\u{A0}rtmp://host/live/***\u{2003}y")
        #expect(URLRedaction("rtmp://host/live/key1").clean("key1\u{301} is busy") == "***\u{301} is busy")
    }

    /// Ten times the text may take ten times as long, but not a hundred times.
    @Test(arguments: ["[", "]", "(", "://[", "://", "a", " ", ":", "é\u{301}", "\u{200B}://[::1]"])
    func theWorkGrowsWithTheTextAlone(_ piece: String) {
        func duration(_ count: Int) -> Duration {
            let text = "a rtmp://host/" + String(repeating: piece, count: count)
            let redaction = URLRedaction("rtmp://host/live/key1")
            return (0..<3).map { _ in
                ContinuousClock().measure {
                    _ = URLRedaction.redact(text)
                    _ = URLRedaction.shown(text)
                    _ = redaction.clean(text)
                }
            }.min() ?? .zero
        }
        let (short, long) = (duration(10_000), duration(100_000))
        #expect(long < short * 40, "\(short) for 10,000, \(long) for 100,000")
    }

    @Test func aMillionBracketsAreRead() {
        let text = "rtmp://[" + String(repeating: "[", count: 1_000_000)
        #expect(URLRedaction.redact(text).utf8.count >= 1_000_000)
    }

    @Test func textIsCutBetweenScalars() {
        for limit in 0...12 {
            let cut = "aé\u{301}😀b".prefix(bytes: limit)
            #expect(cut.utf8.count <= limit && cut.utf8.count > limit - 4 || cut.utf8.count == 10)
            #expect("aé\u{301}😀b".unicodeScalars.starts(with: cut.unicodeScalars))
        }
        #expect(("e" + String(repeating: "\u{301}", count: 400_000)).shortened(toBytes: 100).utf8.count <= 100)
        #expect("short".shortened(toBytes: 100) == "short")
    }
}
