import Foundation
import LayoutEngine
import Testing

@testable import MixPipeline

/// The probe against a real encoder, muxer and decoder, without a network.
@Suite struct ProbeRecordingTests {
    /// What the publisher would push, made as fast as possible into a file.
    private func record(_ publisher: SyntheticPublisher) throws -> FLVRecording {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("publisher-\(UUID().uuidString).flv")
            .path
        let child = try ChildProcess("ffmpeg", publisher.arguments(url: path).filter { $0 != "-re" })
        var messages: [String] = []
        while let line = child.nextLine() { messages.append(line) }
        try #require(child.waitForExit() == 0, "\(messages)")
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
        // The flash and the beep of every second are one instant.
        let offset = try #require(SwitchAnalysis(observation, configuration).overallOffset(of: publisher))
        #expect(abs(offset) < 2, "A/V offset \(offset) ms")
        // The colour asked for is the colour seen.
        let sample = try #require(
            ColourSample.median(observation.pictures.compactMap { $0.readings[publisher.id]?.colour }))
        let rgb = sample.rgb(matrix: publisher.colourTag == .bt709 ? .bt709 : .bt601, isFullRange: false)
        let wanted = [publisher.colour.red, publisher.colour.green, publisher.colour.blue].map(Double.init)
        #expect(zip(rgb, wanted).allSatisfy { abs($0 - $1) <= 3 }, "\(rgb) instead of \(wanted)")
    }
}
