import Testing

@testable import RTMP

@Suite struct RTMPAddressTests {
    @Test(arguments: [
        ("rtmp://h/live/x", "h", 1935, "live", "x", "rtmp://h/live"),
        ("RTMP://h:1935/live/x", "h", 1935, "live", "x", "rtmp://h/live"),
        ("rtmp://h:19350/live/x?token=a", "h", 19350, "live", "x?token=a", "rtmp://h:19350/live"),
        // The last part is the stream; the text before it is the application and its instance.
        ("rtmp://h/app/instance/x", "h", 1935, "app/instance", "x", "rtmp://h/app/instance"),
        // A slash in a query separates nothing …
        ("rtmp://h/live/x?key=a/b", "h", 1935, "live", "x?key=a/b", "rtmp://h/live"),
        // … unless the query is the application's.
        ("rtmp://h/live?vhost=v/x", "h", 1935, "live?vhost=v", "x", "rtmp://h/live?vhost=v"),
        // The stream key is the query, as at bilibili.
        (
            "rtmp://h/live-bvc/?streamname=a&key=b/c", "h", 1935, "live-bvc", "?streamname=a&key=b/c",
            "rtmp://h/live-bvc"
        ),
        ("rtmp://[::1]:1936/live/x", "::1", 1936, "live", "x", "rtmp://[::1]:1936/live"),
        ("rtmp://[fe80::1]/live/x", "fe80::1", 1935, "live", "x", "rtmp://[fe80::1]/live"),
        // Unchanged, as written.
        ("rtmp://h/li%20ve/x%2Fy", "h", 1935, "li%20ve", "x%2Fy", "rtmp://h/li%20ve"),
        ("rtmps://h/live/x", "h", 443, "live", "x", "rtmps://h/live"),
        ("RTMPS://h:1935/live/x?key=a", "h", 1935, "live", "x?key=a", "rtmps://h:1935/live"),
        ("rtmps://[::1]:443/live/x", "::1", 443, "live", "x", "rtmps://[::1]/live"),
        ("rtmp://h:/live/x", "h", 1935, "live", "x", "rtmp://h/live"),
    ])
    func aURLIsTakenApart(
        _ url: String, _ host: String, _ port: Int, _ application: String, _ stream: String, _ connectURL: String
    ) throws {
        let address = try RTMPAddress(url)
        #expect(address.host == host && Int(address.port) == port)
        #expect(address.application == application && address.stream == stream)
        #expect(address.connectURL == connectURL)
        #expect(address.isSecure == url.lowercased().hasPrefix("rtmps:"))
    }

    @Test(arguments: [
        ("nonsense", "does not begin with rtmp://"), ("rtmpt://h/live/x", "does not begin with rtmp://"),
        ("rtmps:/h/live/x", "does not begin with rtmp://"), ("rtmps://u:w@h/live/x", "user name"),
        ("rtmps://h", "no stream name"),
        ("rtmp://", "no host"), ("rtmp:///live/x", "no host"), ("rtmp://h", "no stream name"),
        ("rtmp://h/", "no stream name"), ("rtmp://h/live", "no stream name"), ("rtmp://h/live/", "no stream name"),
        ("rtmp://h/live/?", "no stream name"), ("rtmp://h:0/live/x", "port"), ("rtmp://h:65536/live/x", "port"),
        ("rtmp://h/\u{301}live/x", "printable ASCII"), ("rtmp://h@\u{301}x/live/x", "printable ASCII"),
        ("rtmp://h/live/x\n", "printable ASCII"), ("rtmp://h:+1/live/x", "port"), ("rtmp://::1/live/x", "brackets"),
        ("rtmp://[::1]x/live/x", "not a valid address"),
        ("rtmp://user:word@h/live/x", "user name"), ("rtmp://h/live/" + String(repeating: "x", count: 9000), "longer"),
    ])
    func aURLOfNoUseSaysWhatIsWrong(_ url: String, _ words: String) {
        let error = #expect(throws: RTMPError.self) { try RTMPAddress(url) }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("rtmp://host[:port]/application/stream") == true)
    }

    @Test func aUserNameIsSeenOnlyWhereOneCanBe() {
        #expect(RTMPAddress.hasCredentials("rtmp://user:word@h/live/x"))
        #expect(!RTMPAddress.hasCredentials("rtmp://h/live/x@y"))
        #expect(!RTMPAddress.hasCredentials("nonsense@"))
    }
}
