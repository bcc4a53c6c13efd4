import MixModel
import Testing

@testable import EventSubscription
@testable import TextFormats

@Suite struct AllowListTests {
    @Test func anEmptyListMayMeanNothing() throws {
        let list = try AllowList([], whenEmpty: .nothing)
        #expect(list == .nothing && list.allowsNothing && !AllowList.loopbackOnly.allowsNothing)
        for url in ["rtmp://127.0.0.1/live/a", "rtmp://localhost/live/a", "rtmp://[::1]/a/b", "rtmp://cdn.example/a/b"]
        {
            #expect(try !list.allows(StreamURL(url)), "\(url)")
        }
        let loopback = try #require(InternetAddress([127, 0, 0, 1]))
        #expect(try !list.allows(StreamURL("rtmp://name.example/a/b"), at: loopback))
        #expect(!list.reach.allows(loopback, of: Reach.Target(scheme: "rtmp", host: "127.0.0.1", port: 1935)))
        let error = #expect(throws: InputError.self) {
            try list.check("rtmp://127.0.0.1/live/a", schemes: [.rtmp], field: "url", setting: "sources.allow")
        }
        #expect(error?.expected.contains("sources.allow allows (now: nothing)") == true)
        // Explicit entries count as always.
        #expect(try AllowList(["rtmp://127.0.0.1"], whenEmpty: .nothing).allows(StreamURL("rtmp://127.0.0.1/live/a")))
    }

    @Test(
        arguments: [
            // Without entries, only loopback is allowed.
            ([], "rtmp://127.0.0.1:1935/live/a", true), ([], "rtmp://localhost/live/a", true),
            ([], "rtmp://[::1]:1935/live/a", true), ([], "rtmp://127.9.9.9/a", true), ([], "rtmp://10.0.0.1/a", false),
            ([], "rtmp://media.example/a", false), ([], "rtmp://127.0.0.1.example/a", false),
            // Entries with host, port and scheme.
            (["rtmp://media.example:1935"], "rtmp://media.example:1935/live/a", true),
            (["rtmp://media.example:1935"], "rtmp://MEDIA.example:1935/live/a", true),
            (["rtmp://media.example:1935"], "rtmp://media.example:1936/live/a", false),
            (["rtmp://media.example:1935"], "rtmp://media.example/live/a", false),
            (["rtmp://media.example"], "rtmp://media.example:1936/live/a", true),
            (["rtmp://media.example"], "rtmps://media.example/live/a", false),
            (["*://media.example"], "rtmps://media.example/live/a", true),
            (["rtmp://media.example:*"], "rtmp://media.example:7/live/a", true),
            // Entries with wildcards.
            (["rtmp://*.example"], "rtmp://a.b.example/x", true), (["rtmp://*.example"], "rtmp://example/x", false),
            (["rtmp://*.example"], "rtmp://a.example.evil/x", false),
            (["rtmp://cdn*.example"], "rtmp://cdn7.example/x", true),
            (["rtmp://*"], "rtmp://anything.at.all/x", true),
            // Wildcards for names do not open the local network.
            (["rtmp://*"], "rtmp://10.0.0.1/x", false), (["rtmp://*"], "rtmp://169.254.169.254/x", false),
            (["rtmp://*"], "rtmp://localhost/x", false), (["rtmp://*"], "rtmp://[::1]/x", false),
            (["rtmp://10.0.*"], "rtmp://10.0.3.4/x", true), (["rtmp://10.0.*"], "rtmp://10.1.3.4/x", false),
            (["rtmp://[fe80::1]"], "rtmp://[fe80::1]/x", true),
            // Loopback must be listed too as soon as there is any entry.
            (["rtmp://media.example"], "rtmp://127.0.0.1/x", false),
        ] as [([String], String, Bool)])
    func entriesAllow(_ entries: [String], _ url: String, _ allowed: Bool) throws {
        #expect(try AllowList(entries).allows(StreamURL(url)) == allowed)
    }

    @Test(arguments: ["media.example", "ftp://x", "rtmp://", "rtmp://x:99999", "rtmp://x/path", "rtmp://u@x"])
    func entriesThatCannotBeReadAreNamed(_ entry: String) {
        let error = #expect(throws: InputError.self) { try AllowList([entry]) }
        #expect(error?.found?.contains(entry) == true)
    }

    @Test func schemesOfThePlaceAreChecked() throws {
        let error = #expect(throws: InputError.self) {
            try AllowList.loopbackOnly.check(
                "http://127.0.0.1/x", schemes: [.rtmp, .rtmps], field: "outputs[0].url", setting: "outputs.allow")
        }
        #expect(error?.code == .refusedURL)
        #expect(error?.expected.contains("rtmp://, rtmps://") == true)
    }
}

@Suite struct StreamURLTests {
    @Test func camerasMayHavePasswords() throws {
        for scheme in ["rtsp", "rtspu", "rtsps"] {
            let url = try StreamURL("\(scheme)://admin:p%40ss%3Aw%2Ford!@cam.example:8554/live?channel=1")
            #expect(url.host == "cam.example" && url.port == 8554 && url.path == "/live")
            #expect(url.redacted == "\(scheme)://cam.example:8554/***", "\(url.redacted)")
        }
        let list = try AllowList(["rtsp://10.0.0.5"])
        #expect(
            try list.allows(StreamURL("rtsp://a:b@10.0.0.5/x"))
                && !list.allows(StreamURL("rtsp://10.0.0.5:b@10.0.0.6/x")))
    }

    @Test func serversOfWebRTCMayHaveATokenBeforeTheHost() throws {
        let url = try StreamURL("whips://eyJ.a-b_c%2F@Media.Example:8443/whip/room?x=1")
        #expect(url.scheme == .whips && url.host == "media.example" && url.port == 8443 && url.path == "/whip/room")
        #expect(url.userInformation == "eyJ.a-b_c%2F" && url.redacted == "whips://Media.Example:8443/whip/***")
        #expect(try StreamURL("whip://h/w@x?y=@").userInformation == nil)
        let list = try AllowList(["whips://*.example"])
        #expect(list.allows(url))
        #expect(try !list.allows(StreamURL("whip://token@media.example/w")))
        #expect(try !list.allows(StreamURL("whips://x.example@10.0.0.1/w")))
    }

    @Test(arguments: [
        "whip://u:w@h/x", "whip://@h/x", "whip://a@b@h/x", "whip://a%0d@h/x", "whip://a%4@h/x", "whip://a b@h/x",
        "rtmp://u:w@h/live/x", "http://u:w@h/x", "srt://u:w@h:9", "rtsp://u@h/x", "rtsp://:w@h/x", "rtsp://u:w:x@h/x",
        "rtsp://u:w@other@h/x", "rtsp://u:%4@h/x", "rtsp://u:%0d%0a@h/x", "rtsp://u:%ff@h/x", "rtsp://u:w[@h/x",
        "rtsp://u:%+1@h/x", "rtsp://u:w@/x", "rtsp://@h/x",
    ])
    func otherUserNamesAreRefused(url: String) {
        #expect(throws: StreamURL.Malformed.self) { try StreamURL(url) }
    }

    @Test func schemesAreThoseOfPullsAndThoseThatListsMayName() {
        #expect(EventParser.pullSchemes.map(\.rawValue).sorted() == PullSchemes.all.sorted())
        let all = StreamURL.Scheme.allCases.map(\.rawValue)
        #expect(Set(all).count == all.count && Array(all.prefix(PullSchemes.all.count)) == PullSchemes.all)
        #expect(Set(all).isSuperset(of: ["rtmp", "rtmps", "http", "https", "rtsp", "srt"]))
        for name in all { #expect(StreamURL.Scheme(rawValue: name)?.rawValue == name) }
        for name in ["", "RTMP", "ftp", "rtmp\u{301}"] { #expect(StreamURL.Scheme(rawValue: name) == nil) }
    }

    @Test func partsAreTakenApart() throws {
        let url = try StreamURL("RTMP://Media.Example:1936/app/key?token=1")
        #expect(url.scheme == .rtmp && url.host == "media.example" && url.port == 1936)
        #expect(url.path == "/app/key" && url.query == "token=1")
        #expect(try StreamURL("srt://[2001:db8::1]:9000?streamid=x").host == "2001:db8::1")
    }

    @Test(arguments: [
        ("https://Hooks.EXAMPLE:8443/A?B=/C", "https://hooks.example:8443/A?B=/C"), ("HTTP://H", "HTTP://h"),
        ("http://h?A@B", "http://h?A@B"), ("whip://To-Ken@H/W", "whip://To-Ken@h/W"),
        ("http://[::FF]/A", "http://[::ff]/A"),
    ])
    func onlyTheHostIsPutIntoLowerCase(_ text: String, _ plain: String) throws {
        #expect(try StreamURL(text).textWithPlainHost == plain)
    }

    @Test(arguments: [
        "", "media.example/live", "rtmp:/x", "file:///etc/passwd", "rtmp://", "rtmp:///x", "rtmp://a b/x",
        "rtmp://h/x\u{0}", "rtmp://h/x y", "rtmp://h/\"", "rtmp://user:pass@h/x", "rtmp://h@127.0.0.1/x",
        "rtmp://h:0/x",
        "rtmp://h:70000/x", "rtmp://h:1:2/x", "rtmp://[::1/x", "rtmp://[::1]x/y", "rtmp://h/x#f", "rtmp://häst/x",
        "rtmp://0x7f.0.0.1/x", "rtmp://0x7f000001/x", "rtmp://2130706433/x", "rtmp://127.1/x", "rtmp://0177.0.0.1/x",
        "rtmp://h\\@x/y", "rtmp://h/" + String(repeating: "a", count: 2100),
    ])
    func whatOtherParsersCouldReadDifferentlyIsRefused(_ text: String) {
        #expect(throws: StreamURL.Malformed.self) { try StreamURL(text) }
    }

    @Test(arguments: [
        ("rtmp://h:1935/live/KEY", "rtmp://h:1935/live/***"), ("rtmp://h/live/KEY?auth_key=KEY", "rtmp://h/live/***"),
        ("rtmp://h/KEY", "rtmp://h/***"), ("rtmp://h", "rtmp://h"), ("rtmp://h/", "rtmp://h"),
        ("srt://h:9000?streamid=KEY", "srt://h:9000/***"), ("http://[::1]:80/a/b/KEY.flv", "http://[::1]:80/a/***"),
        ("nonsense KEY", "***"),
    ])
    func redactionTakesTheKeyAndTheQuery(_ url: String, _ redacted: String) {
        #expect(StreamURL.redacted(url) == redacted)
    }
}

@Suite struct RedactionTests {
    @Test(arguments: [
        ("no URL here", "no URL here"),
        (
            "cannot connect to rtmp://h:1935/live/KEY?a=KEY: refused",
            "cannot connect to rtmp://h:1935/live/***: refused"
        ),
        ("location=rtmp://h/a/KEY", "location=rtmp://h/a/***"), ("(\"rtmp://h/KEY\")", "(\"rtmp://h/***\")"),
        ("rtmp://user:KEY@h/KEY failed", "rtmp://h/*** failed"),
        ("rtmp://h/a/KEY, rtmp://h/b/KEY", "rtmp://h/a/***, rtmp://h/b/***"),
        ("unknown://h/KEY", "unknown://h/***"), ("at rtmp://[::1]:1935/live/KEY.", "at rtmp://[::1]:1935/live/***."),
        ("[rtmp://h/live/KEY]", "[rtmp://h/live/***]"), ("rtmp://h?k=KEY", "rtmp://h/***"),
        ("rtmp://h/KEY?a=1/b", "rtmp://h/***"),
    ])
    func urlsInTextLoseTheirSecrets(_ text: String, _ redacted: String) {
        #expect(Redaction.text(text) == redacted)
    }
}

@Suite struct SuggestionTests {
    @Test(
        arguments: [
            ("rolle", "role"), ("strem", "stream"), ("uesr", "user"), ("URL", "url"), ("zzzzzz", nil), ("x", nil),
        ] as [(String, String?)])
    func theNearestWordIsSuggested(_ word: String, _ suggestion: String?) {
        #expect(Suggestion.nearest(to: word, among: ["role", "stream", "user", "url", "audio"]) == suggestion)
    }
}
