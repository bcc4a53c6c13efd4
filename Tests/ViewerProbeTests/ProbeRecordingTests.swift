import Foundation
import LayoutEngine
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ViewerProbe

/// The probe with a real encoder, muxer and decoder, without a network.
@Suite struct ProbeRecordingTests {
    /// Records the publisher's stream into a file, as fast as possible.
    private func record(_ publisher: SyntheticPublisher) throws -> FLVRecording {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("publisher-\(UUID().uuidString).flv")
            .path
        let child = try ChildProcess("ffmpeg", publisher.arguments(url: path).filter { $0 != "-re" })
        var messages: [String] = []
        while let line = child.nextLine() { messages.append(line) }
        try #require(child.waitForExit() == .status(0), "\(messages)")
        return FLVRecording(path: path)
    }

    @Test(arguments: [
        SyntheticPublisher(id: 1, seconds: 4),
        SyntheticPublisher(
            id: 2, width: 1280, height: 720, fps: 30, bFrames: 2, sampleRate: 44100, channels: 1, colourTag: .bt709,
            seconds: 4),
        SyntheticPublisher(id: 15, width: 320, height: 180, fps: 25, videoBitrate: 300_000, seconds: 4),
    ]) func everyPictureOfAPublisherIsReadAndSoundFitsPicture(publisher: SyntheticPublisher) throws {
        let recording = try record(publisher)
        defer { try? FileManager.default.removeItem(atPath: recording.path) }
        let configuration = ProbeConfiguration(publishers: [publisher])
        let observation = try ProgramObservation(recording, configuration)
        #expect(observation.decodeErrors == [])
        #expect(observation.pictures.count == publisher.fps * 4)
        #expect(observation.pictures.map { $0.readings[publisher.id]?.mark.counter } == Array(0..<publisher.fps * 4))
        #expect(observation.pictures.allSatisfy { $0.shown.count == 1 && $0.shown[0].isWhole })
        let report = Probe.report(observation, configuration, connections: 1, publisherLosses: 0)
        #expect(report.isWithinLimits, "\(report.table)")
        // The flash and the beep of every second coincide.
        let offset = try #require(SwitchAnalysis(observation, configuration).overallOffset(of: publisher))
        #expect(abs(offset) < 2, "A/V offset \(offset) ms")
        // The requested colour is the measured colour.
        let sample = try #require(
            ColourSample.median(observation.pictures.compactMap { $0.readings[publisher.id]?.colour }))
        let rgb = sample.rgb(matrix: publisher.colourTag == .bt709 ? .bt709 : .bt601, isFullRange: false)
        let wanted = [publisher.colour.red, publisher.colour.green, publisher.colour.blue].map(Double.init)
        #expect(zip(rgb, wanted).allSatisfy { abs($0 - $1) <= 3 }, "\(rgb) instead of \(wanted)")
    }

    @Test("A viewer who leaves between a picture and those shown before it has seen no gap; one in the middle is one")
    func theEndOfAStreamWithBFrames() throws {
        /// Returns pictures displayed every 50 ms, decoded I P B B P B B, 100 ms ahead.
        func recording(_ pictures: [Int]) throws -> ProgramTrace {
            var writer = FLVTag.fileHeader
            let header = CodecConfiguration(track: .video, bytes: [1, 0x64, 0, 0x1F, 0xFF, 0xE0, 0])
            writer += FLVTag(header, at: .zero, origin: .zero).encoded
            for (index, picture) in pictures.enumerated() {
                let (pts, dts) = (picture * 50 + 100, index * 50)
                let frame = EncodedFrame(
                    track: .video, pts: .milliseconds(pts), dts: .milliseconds(dts), isIDR: index == 0,
                    payload: [0, 0, 0, 1, 0x41])
                writer += FLVTag(frame, origin: .zero).encoded
            }
            return try ProgramTrace(flv: writer)
        }
        let whole = [0, 3, 1, 2, 6, 4, 5, 9, 7, 8, 12, 10, 11, 15, 13, 14]
        for count in 10...whole.count {
            let times = TimingAnalysis(try recording(Array(whole.prefix(count)))).videoTimes
            #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 50 }, "\(times)")
            #expect(times.count >= count - 2)
        }
        var lossy = whole
        lossy.removeAll { $0 == 7 }
        let times = TimingAnalysis(try recording(lossy)).videoTimes
        #expect(zip(times, times.dropFirst()).map { $1 - $0 }.max() == 100)
    }
}
