import Foundation
import GStreamerKit
import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

extension RealTime {
    /// Files that a real mixer plays while the room is empty.
    @Suite("Mixer's idle media", .timeLimit(.minutes(6)))
    struct MixerIdleTests {
        private static func idleScene(_ setup: MixerSetup) -> Scene {
            let id = SourceID.idle.rawValue
            return Scene(
                canvas: setup.canvas,
                panes: [
                    Pane(
                        source: id, user: "", x: 0, y: 0, width: setup.canvas.width, height: setup.canvas.height,
                        fit: .contain, matte: setup.canvas.background)
                ], sound: SceneSound(levels: [.init(source: id)]))
        }

        /// Plays the files of a directory from program time 300 ms on.
        private func play(
            _ names: [String], in directory: URL, loops: Bool, seconds: Double, background: RGB = .black,
            slowUntil end: MediaTime = .zero, slowness: Int64 = 3
        ) async throws -> MixerRecord {
            var setup = MixerHarness.setup(videoOrigin: .milliseconds(500), audioOrigin: .milliseconds(500))
            setup.canvas.background = background
            let items = names.map { IdlePlan.Item(name: $0, path: directory.appending(path: $0).path) }
            var harness = MixerHarness(setup: setup)
            harness.mediaDirectories = [directory.path]
            // Opening a file takes processor time, and begins only shortly before the file is on air.
            harness.slow = .zero..<end
            harness.slowness = slowness
            harness.commands = [
                (.milliseconds(300), .play(MixerPlaylist(plan: IdlePlan(items: items, loops: loops)))),
                (.milliseconds(300), .scene(Self.idleScene(setup))),
            ]
            return try await harness.run(start: .milliseconds(300), end: .seconds(seconds))
        }

        private func withMedia(_ body: (URL) async throws -> Void) async throws {
            let directory = FileManager.default.temporaryDirectory.appending(path: "idle-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            try await body(directory)
        }

        private func luma(_ picture: SourcePicture, _ x: Int, _ y: Int) -> Int {
            picture.frame.withPlane(0) { bytes, stride, _, _ in Int(bytes[y * stride + x]) } ?? -1
        }

        private func check(_ record: MixerRecord) {
            #expect(record.failures.isEmpty, "\(record.failures)")
            let steps = zip(record.video.frames, record.video.frames.dropFirst()).map { $1.pts - $0.pts }
            #expect(steps.allSatisfy { $0 == .milliseconds(50) }, "\(Set(steps))")
            let early = zip(record.videoArrivals, record.video.frames).map { ($0 - $1.pts).inMilliseconds }.min() ?? 0
            #expect(early > -5, "the mix runs ahead of its clock by \(-early) ms")
        }

        @Test("A file in a loop: every picture once a round, in order, and sound without a hole")
        func loops() async throws {
            try await withMedia { directory in
                try MediaClip().write(to: directory.appending(path: "a.mp4"))
                let record = try await play(
                    ["a.mp4"], in: directory, loops: true, seconds: 6.4, slowUntil: .seconds(1))
                check(record)
                #expect(record.notes.isEmpty, "\(record.notes)")
                #expect(record.idle.first == IdleStatus(state: .playing, media: "a.mp4"))
                let pictures = try await TestStreams.pictures(record.video)
                let marks = pictures.map { TestMark.read($0.picture.frame, width: 360) }
                let first = try #require(marks.first ?? nil)
                print("first picture \(first), \(marks.count) pictures")
                // The mix waits only a moment for the first picture; afterwards it may stand still for a few frames.
                #expect(first == 0 && marks.prefix { $0 == 0 }.count < 10)
                // A mixer with too little processor time falls behind and drops pictures, which is not judged.
                let late = zip(record.videoArrivals, record.video.frames).map { $0 - $1.pts }
                let inTime = late.prefix { $0 < .milliseconds(600) }.count
                #expect(inTime > 40, "the machine is too busy: \(late.map(\.inMilliseconds).max() ?? 0) ms late")
                let running = Array(marks.prefix(inTime).drop { $0 == 0 })
                #expect(running == running.indices.map { (1 + $0) % 30 }, "\(marks.map { $0 ?? -1 })")
                let sound = try await TestStreams.sound(record.audio, rate: 48_000, channels: 2)
                let samples = sound.flatMap(\.samples)
                // A window of 40 ms without a tone of this level would be a hole. The AAC decoder begins each round
                // without the previous frame, so that 20 to 30 ms at the seam are quieter.
                let window = 1920 * 2
                // The file may begin up to half a second after the mix.
                let from = 96_000
                let quiet = stride(from: from, to: samples.count - window, by: window).filter { start in
                    samples[start..<start + window].map(abs).max() ?? 0 < 0.02
                }
                #expect(samples.count > 96_000 * 5 && quiet.isEmpty, "\(quiet.map { Double($0) / 96_000 }) s")
            }
        }

        @Test("A file is decoded whole, and is as long as its pictures")
        func file() async throws {
            try await withMedia { directory in
                try MediaClip().write(to: directory.appending(path: "a.mp4"))
                let file = MediaFile(
                    directory.appending(path: "a.mp4").path, in: MediaPlace(directories: [directory.path]),
                    setup: MixerHarness.setup(), news: {})
                var (pictures, sound): ([MediaTime], [(MediaTime, Int)]) = ([], [])
                for _ in 0..<3000 where file.length.map({ $0 > pictures.last ?? .zero }) ?? true {
                    let taken = file.take(until: .seconds(9))
                    pictures += taken.pictures.map(\.0)
                    sound += taken.sound.map { ($0.0, $0.1.count / 2) }
                    if file.length != nil, taken.next == nil { break }
                    try await Task.sleep(for: .milliseconds(10))
                }
                #expect(file.failure == nil && file.length == .milliseconds(1500))
                #expect(pictures == (0..<30).map { .milliseconds($0 * 50) })
                let samples = sound.reduce(0) { $0 + $1.1 }
                print("sound from \(sound.first?.0 ?? .zero), \(samples) samples")
                #expect((70_000...74_000).contains(samples))
                file.tearDown(waits: true)
            }
        }

        @Test("Other containers, sizes and rates, with and without sound, and the end of the list")
        func list() async throws {
            try await withMedia { directory in
                try MediaClip(frames: 20, luma: 60).write(to: directory.appending(path: "a.mp4"))
                try MediaClip(
                    width: 640, height: 360, fps: 30, frames: 30, luma: 120,
                    codecs: ["-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8"], hasSound: false
                ).write(to: directory.appending(path: "b.webm"))
                try MediaClip(
                    frames: 20, codecs: ["-c:a", "libmp3lame"], hasPictures: false
                ).write(to: directory.appending(path: "c.mp3"))
                try MediaClip(
                    width: 320, height: 240, fps: 25, frames: 25, luma: 180,
                    codecs: ["-c:v", "mpeg2video", "-q:v", "2", "-c:a", "mp2"]
                ).write(to: directory.appending(path: "d.ts"))
                try Data("this is no media file".utf8).write(to: directory.appending(path: "broken.mp4"))
                let names = ["a.mp4", "broken.mp4", "b.webm", "missing.mp4", "c.mp3", "d.ts"]
                let record = try await play(
                    names, in: directory, loops: false, seconds: 6.4, background: RGB(red: 255, green: 255, blue: 255),
                    slowUntil: .seconds(5), slowness: 2)
                check(record)
                print(record.notes, record.idle)
                #expect(record.notes.count == 2)
                #expect(record.notes.contains { $0.hasPrefix("idle-media-failed: broken.mp4 cannot be played: ") })
                #expect(record.notes.contains { $0.hasPrefix("idle-media-failed: missing.mp4 does not exist: ") })
                #expect(record.idle.map(\.state) == [.playing, .playing, .playing, .playing, .ended])
                #expect(record.idle.map(\.media) == ["a.mp4", "b.webm", "c.mp3", "d.ts", nil])
                let pictures = try await TestStreams.pictures(record.video)
                let middle = pictures.map { luma($0.picture, 180, 320) }
                // In the middle: 20 frames of a, 20 of b (1 s), then b's last picture beside the sound of c, 20 of d.
                func count(_ luma: Int) -> Int { middle.count { abs($0 - luma) < 8 } }
                print("a \(count(60)), b \(count(120)), d \(count(180)), background \(count(235))")
                #expect((12...21).contains(count(60)) && count(120) >= 19 && (18...22).contains(count(180)))
                #expect(count(60) + count(120) + count(180) + count(235) == middle.count, "\(middle)")
                #expect(middle.last.map { abs($0 - 235) < 8 } ?? false, "the slate follows")
                #expect(middle.prefix(while: { abs($0 - 235) >= 8 }).count == middle.count - count(235), "no flash")
                // Above a wide picture the canvas is visible.
                let wide = pictures.filter { abs(luma($0.picture, 180, 320) - 120) < 8 }
                #expect(wide.allSatisfy { abs(luma($0.picture, 180, 20) - 235) < 8 })
            }
        }

        @Test("A list of which nothing can be played is a slate with a reason, told once")
        func nothing() async throws {
            try await withMedia { directory in
                let outside = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).mp4")
                try MediaClip(frames: 5).write(to: outside)
                defer { try? FileManager.default.removeItem(at: outside) }
                try FileManager.default.createSymbolicLink(
                    at: directory.appending(path: "link.mp4"), withDestinationURL: outside)
                mkfifo(directory.appending(path: "pipe.mp4").path, 0o600)
                let record = try await play(["link.mp4", "pipe.mp4"], in: directory, loops: true, seconds: 2)
                check(record)
                #expect(record.notes.count == 2, "\(record.notes)")
                #expect(record.notes.first?.contains("link.mp4 leads outside media.directory") ?? false)
                #expect(record.notes.last?.contains("pipe.mp4 is not a regular file") ?? false)
                #expect(record.idle.map(\.state) == [.failed])
                #expect(record.idle.first?.error?.hasPrefix("pipe.mp4") ?? false)
                #expect(record.video.frames.count > 15)
            }
        }
    }
}

/// Returns the order of a playlist, without files.
@Suite struct PlaylistOrderTests {
    private static func order(_ count: Int, loops: Bool, first: Int = 0, skipped: Set<Int> = []) -> PlaylistOrder {
        let items = (0..<count).map { IdlePlan.Item(name: "\($0)", path: "/\($0)") }
        return PlaylistOrder(
            MixerPlaylist(plan: IdlePlan(items: items, loops: loops), first: first, skipped: skipped))
    }

    @Test func aLoopGoesOnAndAListEnds() {
        for (loops, expected) in [
            (true, [1, 2, 0, 1, 2].map(PlaylistOrder.Turn.item)), (false, [.item(1), .item(2), .end, .end]),
        ] {
            var order = Self.order(3, loops: loops, first: 1)
            for turn in expected {
                let turn1 = order.take(now: .zero)
                #expect(turn1 == turn)
                order.began()
            }
        }
    }

    @Test func whatIsSkippedIsNotOpened() {
        var order = Self.order(3, loops: true, first: 1, skipped: [1])
        let turns = (0..<3).map { _ in order.take(now: .zero) }
        #expect(turns == [.item(2), .item(0), .item(2)])
        var nothing = Self.order(1, loops: true, skipped: [0])
        let end = nothing.take(now: .zero)
        #expect(end == .end)
    }

    @Test(arguments: [true, false]) func aListThatFailsIsTriedAgain(loops: Bool) {
        var order = Self.order(2, loops: loops)
        for item in 0..<2 {
            let turn2 = order.take(now: .zero)
            #expect(turn2 == .item(item))
            order.failed()
        }
        let until = PlaylistOrder.pause + .seconds(1)
        let turn3 = order.take(now: .seconds(1))
        #expect(turn3 == .pause(until: until))
        let turn4 = order.take(now: until - .milliseconds(1))
        #expect(turn4 == .pause(until: until))
        let turn5 = order.take(now: until)
        #expect(turn5 == .item(0), "from its beginning")
        // A file that plays ends the row of failures.
        order.began()
        let turn6 = order.take(now: until)
        #expect(turn6 == .item(1))
        order.failed()
        let turn7 = order.take(now: until)
        #expect(turn7 == (loops ? .item(0) : .end))
    }
}
