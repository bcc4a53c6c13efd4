import Foundation
import LayoutEngine

@testable import EncodedMedia
@testable import MediaFormats
@testable import ViewerProbe

/// A program as observed by a viewer, made without any encoder: host 1 alone, together with guest 2 from 4 s on, and
/// alone again from 8 s on, with 20 pictures a second and sound at 48 kHz. It is perfect unless a test adds a fault.
struct ProbeFixture {
    static let interval: Int64 = 50
    static let host = SyntheticPublisher(id: 1)
    static let guest = SyntheticPublisher(id: 2, hasSound: false)
    static let splices: [Int64] = [4000, 8000]
    static let configurations = [
        CodecConfiguration(track: .video, bytes: [1]),
        CodecConfiguration(track: .video, bytes: [2]),
        CodecConfiguration(track: .video, bytes: [1]),
        CodecConfiguration(track: .audio, bytes: [0x11, 0x90]),
    ]

    var pictures: [PictureObservation]
    var video: [(pts: Int64, dts: Int64)]
    var audio: [Int64]
    var samples: [Float]
    var decodeErrors: [String] = []
    var connections = 1
    var configuration = ProbeConfiguration(publishers: [host, guest])

    init() {
        pictures = (0..<240).map { index in
            let time = Int64(index) * ProbeFixture.interval
            let isMix = time >= 4000 && time < 8000
            var readings = [1: ProbeFixture.reading(ProbeFixture.host, counter: 1000 + index)]
            if isMix { readings[2] = ProbeFixture.reading(ProbeFixture.guest, counter: 500 + index) }
            return PictureObservation(
                time: time, arrival: (time + (isMix ? 120 : 100)) * 1_000_000,
                configuration: time < 4000 ? 0 : isMix ? 1 : 2, readings: readings,
                shown: isMix ? ProbeFixture.besideEachOther : ProbeFixture.alone, isBlack: false)
        }
        video = pictures.map { ($0.time, $0.time) }
        audio = (0..<562).map { MediaTime.units($0 * 1024, rate: 48000).roundedMilliseconds }
        samples = ProbeFixture.sound(seconds: 12)
    }

    static let alone = [
        Shown(source: 1, area: PixelRectangle(x: 0, y: 0, width: 720, height: 1280), isWhole: true)
    ]
    static let besideEachOther = [
        Shown(source: 1, area: PixelRectangle(x: 0, y: 0, width: 360, height: 1280), isWhole: false),
        Shown(source: 2, area: PixelRectangle(x: 360, y: 0, width: 360, height: 1280), isWhole: false),
    ]

    static func reading(_ publisher: SyntheticPublisher, counter: Int) -> MarkReading {
        MarkReading(
            mark: SourceMark(source: publisher.id, counter: counter), isFlashing: counter % publisher.fps == 0,
            colour: ColourSample(publisher.colour, matrix: .bt601))
    }

    /// Returns the host's tone and its beeps at whole seconds; its counter 1000 is a flash, so the beeps match the
    /// pictures.
    static func sound(seconds: Int, phase: (Int) -> Double = { _ in 0 }) -> [Float] {
        (0..<seconds * 48000).map { index in
            let time = Double(index) / 48000
            let tone = 0.1 * sin(2 * Double.pi * Double(host.toneFrequency) * time + phase(index))
            let inside = time - time.rounded(.down)
            guard inside < SyntheticPublisher.beepSeconds else { return Float(tone) }
            let shape = sin(Double.pi * inside / SyntheticPublisher.beepSeconds)
            return Float(tone + 0.3 * shape * shape * sin(2 * Double.pi * Double(host.beepFrequency) * time))
        }
    }

    /// Returns sound with a click, 2 ms of a tone from sample `start` on, at a level in dB of full scale.
    static func clicking(
        _ sound: [Float], at start: Int, frequency: Double, decibels: Double = -50
    ) -> [Float] {
        let amplitude = pow(10, decibels / 20)
        var sound = sound
        for index in 0..<96 {
            let shape = sin(Double.pi * (Double(index) + 0.5) / 96)
            let wave = sin(2 * Double.pi * frequency * Double(index) / 48000)
            sound[start + index] += Float(amplitude * shape * shape * wave)
        }
        return sound
    }

    /// Returns the fixture's timestamps as an FLV stream, in decoding order.
    func flv() -> [UInt8] {
        var bytes = FLVTag.fileHeader
        for index in [0, 3] {
            bytes += FLVTag(ProbeFixture.configurations[index], at: .zero, origin: .zero).encoded
        }
        for entry in video {
            let frame = EncodedFrame(
                track: .video, pts: .milliseconds(entry.pts), dts: .milliseconds(entry.dts),
                payload: [0, 0, 0, 1, 0x41])
            bytes += FLVTag(frame, origin: .zero).encoded
        }
        for time in audio {
            let frame = EncodedFrame(
                track: .audio, pts: .milliseconds(time), dts: .milliseconds(time), payload: [0x21])
            bytes += FLVTag(frame, origin: .zero).encoded
        }
        return bytes
    }

    func report() throws -> ProbeReport {
        Probe.report(try observation(), configuration, connections: connections, publisherLosses: 0)
    }

    func plot() throws -> ProbePlot { ProbePlot(try observation(), configuration, try report()) }

    private func observation() throws -> ProgramObservation {
        let trace = try ProgramTrace(flv: flv())
        let run = SoundRun(sampleRate: 48000, samplesPerFrame: 1024, frameTimes: audio, samples: samples)
        return ProgramObservation(
            pictures: pictures, sound: [run], timing: TimingAnalysis(trace),
            configurations: ProbeFixture.configurations, decodeErrors: decodeErrors)
    }

    /// Removes pictures, as if they had never been sent.
    mutating func removePictures(_ times: ClosedRange<Int64>) {
        pictures.removeAll { times.contains($0.time) }
        video.removeAll { times.contains($0.pts) }
    }

    /// Changes every picture from `time` on.
    mutating func change(from time: Int64, _ body: (inout PictureObservation) -> Void) {
        for index in pictures.indices where pictures[index].time >= time { body(&pictures[index]) }
    }
}
