import EncodedMedia
import Testing

@testable import ProgramRelay

/// The request that a worker's pull is given, and those that it refuses before starting a process.
@Suite struct PullHeadTests {
    private func head(_ url: String, latency: MediaTime = .zero) throws -> PullHead {
        let kind = try #require(PullProtocols.kind(of: url) as? any WorkerPullKind.Type, "\(url)")
        return try kind.head(for: PullAddress(url), latency: latency)
    }

    @Test(arguments: [
        ("test://example.com/bars", "localhost"), ("test://localhost/nothing", "bars, ball, snow or black"),
        ("test://localhost/?size=17x20", "even"), ("test://localhost/?fps=0", "fps in the URL must be 1…60"),
        ("test://localhost/?size=99999999999999999999x2", "size"),
        ("test://localhost/?tune=1", "does not know"), ("test://localhost/?fps=1&fps=2", "twice"),
        ("file://other/a.mp4", "localhost"), ("file://localhost/", "relative to media.directory"),
        ("file://localhost/../a", "relative to media.directory"), ("file://localhost//etc/passwd", "relative"),
        ("file://localhost/%2e%2e/a", "relative"), ("file://localhost/a.mp4?loop=maybe", "yes or no"),
        ("srt://host", "needs a port"), ("srt://host:9/live", "no path"), ("srt://host:9?mode=x", "mode"),
        ("srt://host:9?mode=listener", "not a name"), ("srt://0.0.0.0:9?mode=listener", "0.0.0.0"),
        ("srt://host:9?passphrase=short", "10 to 79 bytes"), ("srt://host:9?latency=9", "20…8000"),
        ("srt://host:9?passphrase=0123456789&pbkeylen=9", "16, 24 or 32"),
        ("udp://host:5000", "not a name"), ("udp://0.0.0.0:5000", "0.0.0.0"), ("udp://[::]:5000", "0.0.0.0"),
        ("udp://239.1.1.1", "a port"), ("udp://239.1.1.1:80", "1024"), ("rtp://127.0.0.1:5004/x", "no path"),
    ])
    func whatCannotBePulledIsRefusedWithTheCure(url: String, words: String) {
        #expect("\(url)") {
            _ = try head(url)
        } throws: { error in
            let end = error as? PullEnd
            return end?.kind == .badURL && end?.words.contains(words) == true
        }
    }

    /// External input is a property, which GStreamer does not parse as a pipeline.
    @Test(arguments: [
        "srt://127.0.0.1:9000?passphrase=0123456789!fakesink&streamid=a!b", "rtsp://127.0.0.1/live!fakesink",
        "udp://239.1.2.3:5000", "rtp://[ff02::1]:5000", "file://localhost/a%20!%20fakesink.mp4",
    ])
    func nothingOfAURLIsAPartOfADescription(url: String) throws {
        let head = try head(url)
        let address = try PullAddress(url)
        for secret in [address.host, "fakesink", "0123456789"] {
            #expect(!head.pipeline.contains(secret), "\(head.pipeline)")
        }
        #expect(Set(head.sinks).count == head.sinks.count && !head.sinks.isEmpty)
    }

    @Test(arguments: [
        ("rtsp://h.example/live", "rtspsrc name=source latency=70 "),
        ("rtp://127.0.0.1:5004", "rtpjitterbuffer latency=70 "),
    ])
    func elementsHaveTheLatencyOfTheOptions(url: String, words: String) throws {
        #expect(try head(url, latency: .milliseconds(70)).pipeline.contains(words))
    }

    /// Containers, RTMP and SRT have decoding times; RTP itself has none.
    @Test(arguments: [
        ("rtsp://h.example/live", true), ("rtspu://h.example/live", true), ("srt://h.example:9000", false),
    ])
    func arrivalOfRTPIsNoDecodingTime(url: String, isRTP: Bool) throws {
        #expect(try head(url).isRTP == isRTP)
    }

    @Test func aLatencyInTheURLComesFirst() throws {
        func latency(_ url: String) throws -> String? {
            try head(url, latency: .milliseconds(70)).properties.first { $0.name == "latency" }?.value
        }
        #expect(try latency("srt://127.0.0.1:9000") == "70")
        #expect(try latency("srt://127.0.0.1:9000?latency=300") == "300")
    }

    @Test func aPassphraseIsOnlyAProperty() throws {
        let head = try head("srt://h.example:9000?passphrase=correct-horse&pbkeylen=32&mode=caller")
        #expect(head.properties.contains(.init("source", "passphrase", "correct-horse")))
        #expect(head.properties.filter { $0.name == "uri" }.allSatisfy { !$0.value.contains("correct") })
    }

    @Test(arguments: ["rtsp", "rtspu", "rtsps"]) func passwordsOfCamerasAreOnlyProperties(scheme: String) throws {
        let url = "\(scheme)://admin:p%40ss!x@h.example/live"
        let head = try head(url)
        #expect(head.properties.contains(.init("source", "user-id", "admin")))
        #expect(head.properties.contains(.init("source", "user-pw", "p@ss!x")))
        let location = try #require(head.properties.first { $0.name == "location" }).value
        #expect(location.hasSuffix("p://h.example/live") || location == "rtsps://h.example/live", "\(location)")
        #expect(!head.pipeline.contains("ss!x"))
        var address = try PullAddress(url)
        address.put("::1")
        #expect(address.text == "\(scheme)://admin:p%40ss!x@[::1]/live")
        #expect(address.withoutCredentials == "\(scheme)://[::1]/live")
    }

    @Test func endsSurviveTheWay() {
        for kind in PullEnd.Kind.allCases {
            let end = PullEnd(kind, "in words: with more")
            #expect(PullCue.end(PullCue.text(of: end)) == end)
        }
        #expect(PullCue.end("").kind == .lost && PullCue.end("what is this").kind == .lost)
    }

    @Test func picturesWithoutReorderingAreDecodedWhenTheyAreShown() {
        var times = DecodingTimes()
        for step in 0..<50 {
            #expect(times.next(pts: .milliseconds(Int64(step * 33))) == .milliseconds(Int64(step * 33)))
        }
    }

    /// I P B B: decoded in the order 0, 3, 1, 2.
    @Test func decodingTimesGrowAndComeBeforePresentationOnceReorderingIsKnown() {
        var times = DecodingTimes()
        var last: MediaTime?
        for group in 0..<20 {
            for place in [0, 3, 1, 2] {
                let pts = MediaTime.milliseconds(Int64((group * 4 + place) * 40))
                let dts = times.next(pts: pts)
                if let last { #expect(dts > last) }
                if group > 0 { #expect(dts <= pts, "\(group) \(place)") }
                last = dts
            }
        }
        // A stream that starts again is not reordered.
        #expect(times.next(pts: .zero) == -.milliseconds(80) || times.next(pts: .milliseconds(40)) < .milliseconds(40))
    }
}
