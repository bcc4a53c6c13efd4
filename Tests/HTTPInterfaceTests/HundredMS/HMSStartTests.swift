import EventSubscription
import MixModel
import Testing

@testable import HTTPInterface

/// Bodies of calls that start a session.
@Suite struct HMSStartTests {
    private func start(
        _ text: String, _ kind: HMSSession.Kind = .externalStream, _ settings: HMSSettings = HMSSettings()
    ) throws -> HMSStart {
        try HMSStart(try JSONValue(parsing: text.utf8), kind, settings)
    }

    private func refusal(
        _ text: String, _ kind: HMSSession.Kind = .externalStream, _ settings: HMSSettings = HMSSettings()
    ) -> String? {
        do {
            _ = try start(text, kind, settings)
            return nil
        } catch {
            let fault = HMSFault(error)
            #expect(fault.status == .badRequest, "\(text)")
            return fault.message + " " + fault.details.joined(separator: " ")
        }
    }

    private static var strict: HMSSettings {
        var settings = HMSSettings()
        settings.isStrict = true
        return settings
    }

    @Test func bothOrEitherIsSent() throws {
        let both = try start(
            #"""
            {"meeting_url": "https://app.example/preview/demo", "rtmp_urls": ["rtmp://a/b/c"], "recording": true,
             "resolution": {"width": 1280, "height": 721}, "destination": "main", "unknown": [1]}
            """#)
        #expect(both.meetingURL == "https://app.example/preview/demo" && both.urls == ["rtmp://a/b/c"])
        #expect(both.records && both.size == HMSSession.Size(width: 1280, height: 720) && both.destination == "main")
        #expect(try start(#"{"rtmp_urls": ["rtmp://a/b/c"]}"#).records == false)
        #expect(try start(#"{"recording": true, "rtmp_urls": null}"#).urls == [])
        #expect(refusal("{}")?.contains("recording: true") == true)
        #expect(refusal(#"{"rtmp_urls": [], "recording": false}"#) != nil)
        #expect(refusal("[]") != nil && refusal(#"{"recording": "yes"}"#) != nil)
    }

    @Test func urlsAreLimited() throws {
        func body(_ count: Int) -> String {
            #"{"meeting_url": "https://a.example", "rtmp_urls": ["#
                + (0..<count).map { "\"rtmp://a/b/\($0)\"" }.joined(separator: ",") + "]}"
        }
        #expect(try start(body(10)).urls.count == 10)
        #expect(refusal(body(11))?.contains("at most 10") == true)
        #expect(try start(body(3), .externalStream, Self.strict).urls.count == 3)
        #expect(refusal(body(4), .externalStream, Self.strict)?.contains("at most 3") == true)
        let srt = #"{"meeting_url": "https://a.example", "rtmp_urls": ["srt://a:9000"]}"#
        #expect(try start(srt).urls.count == 1)
        #expect(refusal(srt, .externalStream, Self.strict)?.contains("rtmp://") == true)
        #expect(refusal(#"{"rtmp_urls": [7]}"#)?.contains("rtmp_urls[0]") == true)
        #expect(refusal(#"{"rtmp_urls": "rtmp://a/b/c"}"#) != nil)
    }

    @Test func onlyStrictnessNeedsAPage() throws {
        let body = #"{"rtmp_urls": ["rtmp://a/b/c"]}"#
        #expect(try start(body).meetingURL == nil)
        #expect(refusal(body, .externalStream, Self.strict)?.contains("meeting_url is missing") == true)
        var settings = Self.strict
        settings.meetingURL = "https://a.example/{room}"
        #expect(try start(body, .externalStream, settings).meetingURL == nil)
        #expect(settings.meetingURL(of: RoomID(app: "shop", name: "a room")) == "https://a.example/a%20room")
    }

    @Test(arguments: [
        (500, 480, true), (1920, 1080, true), (500, 500, true), (1080, 1920, true), (720, 1280, true),
        (499, 480, false), (500, 479, false), (1922, 1080, false), (1920, 1082, false), (480, 600, false),
        (1082, 1920, false), (0, 0, false),
    ])
    func sizesAre100msOwn(width: Int, height: Int, isFine: Bool) {
        let reason = refusal(#"{"recording": true, "resolution": {"width": \#(width), "height": \#(height)}}"#)
        #expect((reason == nil) == isFine, "\(reason ?? "accepted")")
    }

    /// Without strictness, a page has the size of the room's canvas.
    @Test func onlyStrictnessHasAUsualSize() throws {
        let body = #"{"meeting_url": "https://a.example", "recording": true"#
        #expect(try start(body + "}").size == nil)
        #expect(try start(body + "}", .externalStream, Self.strict).size == HMSSession.Size(width: 1280, height: 720))
        let upright = body + #", "resolution": {"width": 720, "height": 1280}}"#
        #expect(try start(upright, .externalStream, Self.strict).size == HMSSession.Size(width: 720, height: 1280))
        let live = #"{"meeting_url": "https://a.example"}"#
        #expect(try start(live, .recording, Self.strict).size == HMSStart.usualSize)
        #expect(try start(live, .liveStream, Self.strict).size == nil)
    }

    @Test func aSizeHasBothSides() {
        for size in [#"{"width": 1280}"#, #"{"height": 720}"#, "{}", "7", #"{"width": "1280", "height": 720}"#] {
            #expect(refusal(#"{"recording": true, "resolution": \#(size)}"#) != nil, "\(size)")
        }
    }

    @Test func liveStreamsSayWhatIsKept() throws {
        let both = try start(#"{"recording": {"hls_vod": true, "single_file_per_layer": true}}"#, .liveStream)
        #expect(both.keepsSegments && both.records)
        let none = try start("{}", .liveStream)
        #expect(!none.keepsSegments && !none.records)
        #expect(refusal(#"{"recording": true}"#, .liveStream) != nil)
        let variant = #"{"meeting_url": "https://a.example", "metadata": "landscape"}"#
        let named = try start(#"{"variants": [\#(variant), \#(variant)]}"#, .liveStream)
        #expect(named.meetingURL == "https://a.example" && named.metadata == "landscape")
        let others = #"{"meeting_url": "https://b.example", "variants": [\#(variant)]}"#
        #expect(refusal(others, .liveStream)?.contains("variants[0].meeting_url") == true)
        #expect(refusal(#"{"metadata": "\#(String(repeating: "a", count: 4097))"}"#, .liveStream) != nil)
    }

    @Test func whatIsNotThereIsSaid() throws {
        #expect(try start("{}", .recording).records)
        #expect(try start(#"{"audio_only": true}"#, .recording).isAudioOnly)
        #expect(refusal(#"{"audio_only": "yes"}"#, .recording)?.contains("audio_only") == true)
        let text = #"{"transcription": {"enabled": true}}"#
        #expect(refusal(text, .recording)?.contains("transcription is not supported") == true)
        #expect(try start(#"{"transcription": {"enabled": false}, "audio_only": false}"#, .recording).records)
        #expect(refusal(#"{"destination": "\#(String(repeating: "a", count: 257))"}"#, .recording) != nil)
    }
}
