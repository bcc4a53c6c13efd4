import Foundation
import Testing

@testable import ViewerProbe

/// Recording and HLS of a program on air, started and stopped in the console.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct ConsoleFilesTests {
    /// The parts of a room that the test checks.
    private struct Room: Decodable {
        struct HLS: Decodable { var running: Bool }
        struct Playback: Decodable { var hls: String? }
        var hls: HLS
        var playback: Playback
    }

    private struct Recording: Decodable {
        struct Stream: Decodable { var seconds: Double }
        var running: Bool
        var streams: [Stream]
    }

    private struct Recordings: Decodable {
        struct File: Decodable {
            var state: String
            var duration: Double
        }
        var recordings: [File]
    }

    private static func read<Value: Decodable>(
        _ path: String, of stage: Stage, as type: Value.Type = Value.self
    ) async throws -> Value {
        try JSONDecoder().decode(type, from: try await stage.client.request("GET", path).body)
    }

    /// Returns an expression for the panel of one kind of files.
    private static func panel(_ id: String) -> String { "document.querySelector('section[aria-labelledby=\(id)]')" }

    /// Presses a button of a panel as soon as it is there and not busy.
    private static func press(_ text: String, in id: String, of page: BrowserPage) async throws {
        let buttons = "[...(\(panel(id))?.querySelectorAll('button:not([aria-busy])') ?? [])]"
        let button = "\(buttons).find(one => one.textContent === '\(text)')"
        try await page.wait(for: button)
        let _: Bool = try await page.evaluate("(\(button).click(), true)")
    }

    /// Unfolds the form of a panel, which is there while nothing runs.
    private static func unfold(_ id: String, of page: BrowserPage) async throws {
        try await page.wait(for: "\(panel(id))?.querySelector('summary')")
        let _: Bool = try await page.evaluate("(\(panel(id)).querySelector('summary').click(), true)")
    }

    @Test(.timeLimit(.minutes(15))) func recordingAndHLSAreStartedAndStopped() async throws {
        try await Stage.run { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            let room = "/v1/rooms/\(stage.room)"
            let page = try await ConsoleTests.open("rooms/\(stage.room)", of: stage.client.port, in: stage.directory)

            try await Self.unfold("recording", of: page)
            try await Self.press("Start recording", in: "recording", of: page)
            try await page.wait(for: "\(Self.panel("recording"))?.querySelector('.pill.rec')")
            try await waitUntil("a second is recorded") {
                let now: Recording = try await Self.read("\(room)/recording", of: stage)
                return now.running && now.streams.contains { $0.seconds > 1 }
            }
            try await Self.press("Stop recording", in: "recording", of: page)
            try await waitUntil("the file is closed") {
                let list: Recordings = try await Self.read("\(room)/recordings", of: stage)
                return list.recordings.map(\.state) == ["complete"] && list.recordings[0].duration > 0.5
            }
            try await waitUntil("nothing is recorded") {
                try await !Self.read("\(room)/recording", of: stage, as: Recording.self).running
            }
            // The page lists the file, and offers to record again.
            try await page.wait(
                for: "\(Self.panel("recording"))?.querySelector('tbody th')?.textContent.includes('complete')")
            try await page.wait(for: "\(Self.panel("recording"))?.querySelector('summary')")

            try await Self.unfold("hls", of: page)
            let _: Bool = try await page.evaluate("(document.querySelector('#hls-segment').value = '1', true)")
            try await Self.press("Start HLS", in: "hls", of: page)
            try await waitUntil("the program is playable over HLS") {
                try await stage.client.request("GET", "/live/\(stage.room)/index.m3u8").status == 200
            }
            let hls = Self.panel("hls")
            try await page.wait(
                for: "\(hls)?.querySelector('.pill')?.textContent === 'running' && \(hls).querySelector('.list a')")
            try await Self.press("Stop HLS", in: "hls", of: page)
            try await waitUntil("the room has no HLS") {
                let now: Room = try await Self.read(room, of: stage)
                return !now.hls.running && now.playback.hls == nil
            }
            try await page.wait(for: "\(hls)?.querySelector('summary')")
            #expect(await page.complaints == [])
            await page.close()
        }
    }
}
