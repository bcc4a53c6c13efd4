import Foundation
import MixModel
import Testing
import EncodedMedia

@testable import MediaFormats
@testable import ProgramRelay

/// Real files, judged by ffmpeg: recordings as seen by a player.
@Suite(.timeLimit(.minutes(8))) struct RecorderTests {
    @Test(arguments: [0, 2]) func aRecordingIsTheProgram(bFrames: Int) async throws {
        let stream = try await RecorderStream.make(bFrames: bFrames)
        try withBench { bench in
            let recorder = bench.recorder()
            try recorder.push(stream.bytes)
            recorder.finish()
            let file = try bench.onlyFile()
            try stream.expectWhole(file)
            let probe = try FileProbe(file)
            #expect(probe.indexed, "players seek in it at once")
            #expect(probe.decodeErrors.isEmpty, "\(probe.decodeErrors)")
            let manifest = try bench.manifests()[0]
            #expect(manifest.state == .complete && manifest.endReason == "stopped")
            #expect(manifest.bytes == Int64(probe.size) && abs(manifest.duration - stream.seconds) < 0.1)
        }
    }

    @Test func whatIsThereWhenARecorderIsKilledPlays() async throws {
        let stream = try await RecorderStream.make(bFrames: 2)
        try await withBench { bench in
            let process = try bench.process()
            process.send(try bench.line + stream.bytes)
            await bench.waitForBytes(stream.bytes.count * 8 / 10)
            process.kill()
            await process.waitForExit()
            let file = try bench.onlyFile()
            try stream.expectWhole(file, missingSeconds: 2)
            let probe = try FileProbe(file)
            #expect(!probe.indexed && probe.decodeErrors.isEmpty, "\(probe.decodeErrors)")

            // The next recorder finalizes it, and continues in another file.
            let recorder = bench.recorder()
            try recorder.push(stream.bytes)
            recorder.finish()
            let manifests = try bench.manifests()
            #expect(manifests.map(\.part) == [1, 2] && manifests.map(\.state) == [.complete, .complete])
            #expect(manifests[0].endReason == "recorderLost")
            let closed = try FileProbe(file)
            #expect(closed.indexed && closed.decodeErrors.isEmpty)
            #expect(closed.pictures.map(\.pts) == probe.pictures.map(\.pts), "the index changes no time")
            try stream.expectWhole(bench.path(manifests[1].file))
        }
    }

    @Test func aSingleFileGoesOnAfterALoss() async throws {
        let stream = try await RecorderStream.make(bFrames: 2)
        try withBench { bench in
            var settings = bench.settings
            settings.recording.settings.singleFilePerLayer = true
            settings.wallClockAtZero = 1_000_000
            let first = Recorder(settings: settings) { _ in }
            try first.push(stream.bytes)
            first.finish()
            #expect(try FileProbe(bench.onlyFile()).indexed)
            // The program of another relay, 20 s later.
            settings.wallClockAtZero = 1_000_020
            let second = Recorder(settings: settings) { _ in }
            try second.push(stream.bytes)
            second.finish()
            let probe = try FileProbe(bench.onlyFile())
            #expect(probe.indexed && probe.decodeErrors.isEmpty, "\(probe.decodeErrors)")
            #expect(probe.pictures.count == 2 * stream.pictures.count)
            let times = probe.pictures.map(\.pts).sorted()
            #expect(abs(times[stream.pictures.count] - times[0] - 20) < 0.01)
            #expect(try bench.manifests().map(\.state) == [.complete])
        }
    }

    /// A recording that was paused for 100 s: one file, without the pause.
    @Test func aPauseIsNotInTheFile() async throws {
        let stream = try await RecorderStream.make(bFrames: 2)
        try withBench { bench in
            var settings = bench.settings
            settings.recording.settings.singleFilePerLayer = true
            for (start, isOn) in [(1_000_000.0, nil as Bool?), (1_000_100, true)] {
                settings.wallClockAtZero = start
                settings.recording.settings.leavesOutGaps = isOn
                let recorder = Recorder(settings: settings) { _ in }
                let change = RecordingManifest.Switch(
                    at: stream.start.inSeconds + 3, wallClock: start, from: .bypass, to: .mix, source: nil,
                    cause: "bob joins", panes: [])
                let cue = FLVCue(
                    name: RecorderCue.switched, text: String(decoding: try JSONEncoder().encode(change), as: UTF8.self))
                // Like a relay, before the first frame.
                try recorder.push(FLVTag.fileHeader + cue.tag(at: 0).encoded)
                try recorder.push(Array(stream.bytes.dropFirst(FLVTag.fileHeader.count)))
                recorder.finish()
            }
            let probe = try FileProbe(bench.onlyFile())
            #expect(probe.indexed && probe.decodeErrors.isEmpty, "\(probe.decodeErrors)")
            #expect(probe.pictures.count == 2 * stream.pictures.count)
            let times = probe.pictures.map(\.pts).sorted()
            let steps = zip(times, times.dropFirst()).map { $1 - $0 }
            #expect((steps.max() ?? 1) < 0.2, "\(steps.max() ?? 0)")
            let sounds = zip(probe.sounds, probe.sounds.dropFirst()).map { $1 - $0 }
            #expect((sounds.max() ?? 1) < 0.2 && (sounds.min() ?? 0) > 0)
            let manifest = try bench.manifests()[0]
            #expect(abs(manifest.duration - 2 * stream.seconds) < 0.3)
            let places = manifest.switches.map(\.at)
            #expect(places.count == 2 && abs(places[0] - 3) < 0.01 && abs(places[1] - stream.seconds - 3) < 0.2)
        }
    }

    @Test func onlySoundIsRecordedIfThatIsAsked() async throws {
        let stream = try await RecorderStream.make(bFrames: 0)
        try withBench { bench in
            var settings = bench.settings
            settings.recording.settings.audioOnly = true
            let recorder = Recorder(settings: settings) { _ in }
            try recorder.push(stream.bytes)
            recorder.finish()
            let probe = try FileProbe(bench.onlyFile())
            #expect(probe.indexed && probe.decodeErrors.isEmpty, "\(probe.decodeErrors)")
            #expect(probe.pictures.isEmpty && probe.sounds.count >= stream.sounds - 1)
            let manifest = try bench.manifests()[0]
            #expect(!manifest.hasVideo && manifest.hasAudio && abs(manifest.duration - stream.seconds) < 0.2)
        }
    }

    @Test func switchesStandInTheManifest() async throws {
        let stream = try await RecorderStream.make(bFrames: 0)
        try withBench { bench in
            let recorder = bench.recorder()
            let pane = try JSONDecoder().decode(
                RecordingManifest.Pane.self,
                from: Data(#"{"user":"bob","source":"bob/camera","x":0,"y":0,"width":180,"height":320}"#.utf8))
            let change = RecordingManifest.Switch(
                at: stream.start.inSeconds + 3, wallClock: 5, from: .bypass, to: .mix, source: nil, cause: "bob joins",
                panes: [pane])
            let cue = FLVCue(
                name: RecorderCue.switched, text: String(decoding: try JSONEncoder().encode(change), as: UTF8.self))
            try recorder.push(stream.bytes)
            try recorder.push(cue.tag(at: 0).encoded)
            try recorder.push(cue.tag(at: 0).encoded)
            recorder.finish()
            let switches = try bench.manifests()[0].switches
            #expect(switches.count == 1 && switches.first?.panes == [pane] && switches.first?.to == .mix)
            #expect(abs((switches.first?.at ?? 0) - 3) < 0.001)
        }
    }

    /// The timestamps have wrapped around once, but the times that the relay reports for its program have not.
    @Test func aProgramOfSixtyDaysHasItsTimes() async throws {
        let stream = try await RecorderStream.make(bFrames: 0)
        try withBench { bench in
            var settings = bench.settings
            settings.wallClockAtZero = 1_000_000
            let period = 4_294_967.296
            let now = 1_000_000 + period + stream.start.inSeconds
            let recorder = Recorder(settings: settings, now: now) { _ in }
            let change = RecordingManifest.Switch(
                at: period + stream.start.inSeconds + 3, wallClock: 5, from: .bypass, to: .mix, source: nil,
                cause: "bob joins", panes: [])
            let cue = FLVCue(
                name: RecorderCue.switched, text: String(decoding: try JSONEncoder().encode(change), as: UTF8.self))
            try recorder.push(stream.bytes)
            try recorder.push(cue.tag(at: 0).encoded)
            recorder.finish()
            let manifest = try bench.manifests()[0]
            #expect(abs(manifest.startedAt - now) < 0.01)
            #expect(abs((manifest.switches.first?.at ?? 0) - 3) < 0.001)
        }
    }

    // MARK: - What can go wrong

    @Test(.enabled(if: RecorderBench.canMount)) func aFullDiskEndsTheRecordingAndWhatIsThereIsWhole() async throws {
        let stream = try await RecorderStream.make(bFrames: 0)
        try withBench { bench in
            let room = stream.bytes.count / 2
            try Data(bench.line + stream.bytes).write(to: bench.directory.appending(path: "input"))
            let output = try bench.shell(
                """
                mkdir -p "$DIR/files" "$DIR/saved" && mount -t tmpfs -o size=\(room) tmpfs "$DIR/files" &&
                "$WORKER" recorder < "$DIR/input"; df --output=avail "$DIR/files" >&2; cp "$DIR/files/"* "$DIR/saved/"; true
                """, inNamespace: true)
            let reports = output.split(separator: "\n").compactMap {
                try? JSONDecoder().decode(RecorderReport.self, from: Data($0.utf8))
            }
            let last = try #require(reports.last)
            #expect(last.state == .failed && last.error?.code == "disk_full", "\(output)")
            #expect(last.error?.message.contains("No space left on device") == true)
            let file = try #require(try bench.files(in: "saved").first { $0.hasSuffix(".mp4") })
            let probe = try FileProbe(file)
            #expect(probe.indexed, "there is room for the index")
            #expect(probe.decodeErrors.isEmpty && probe.pictures.count > stream.pictures.count / 4)
        }
    }

    @Test func aDiskThatIsNearlyFullIsLeftAlone() throws {
        try withBench { bench in
            var settings = bench.settings
            settings.recording.keepFreeBytes = 1 << 50
            try bench.expectFailure("disk_nearly_full", settings)
        }
    }

    @Test func aDirectoryThatCannotBeHadIsTold() throws {
        try withBench { bench in
            var settings = bench.settings
            settings.recording.directory = "/proc/recordings/room"
            try bench.expectFailure("directory_missing", settings)
            let blocked = bench.directory.appending(path: "plain")
            try Data().write(to: blocked)
            settings.recording.directory = blocked.path + "/room"
            try bench.expectFailure("directory_missing", settings)
        }
    }

    @Test func aFileThatIsRemovedWhileItIsWrittenIsTold() async throws {
        let stream = try await RecorderStream.make(bFrames: 0)
        try withBench { bench in
            var reports: [RecorderReport] = []
            let recorder = Recorder(settings: bench.settings) { reports.append($0) }
            let half = stream.bytes.count / 2
            try recorder.push(Array(stream.bytes[..<half]))
            try FileManager.default.removeItem(at: bench.directory.appending(path: "files"))
            try recorder.push(Array(stream.bytes[half...]))
            #expect(recorder.isOver && reports.last?.error?.code == "recording_removed")
        }
    }

    @Test func nothingIsOverwritten() async throws {
        let stream = try await RecorderStream.make(bFrames: 0)
        try withBench { bench in
            try FileManager.default.createDirectory(
                at: bench.directory.appending(path: "files"), withIntermediateDirectories: true)
            let mine = bench.path(bench.settings.fileName(part: 1))
            try Data("not yours".utf8).write(to: URL(filePath: mine))
            let recorder = bench.recorder()
            try recorder.push(stream.bytes)
            recorder.finish()
            #expect(try Data(contentsOf: URL(filePath: mine)) == Data("not yours".utf8))
            try stream.expectWhole(bench.path(bench.settings.fileName(part: 2)))
        }
    }

    private func withBench(_ body: (RecorderBench) throws -> Void) throws {
        let bench = try RecorderBench()
        defer { bench.remove() }
        try body(bench)
    }

    private func withBench(_ body: (RecorderBench) async throws -> Void) async throws {
        let bench = try RecorderBench()
        defer { bench.remove() }
        try await body(bench)
    }
}
