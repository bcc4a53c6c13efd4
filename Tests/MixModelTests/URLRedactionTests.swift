import MixModel
import Testing

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
}
