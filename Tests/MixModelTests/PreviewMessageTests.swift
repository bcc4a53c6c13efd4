import Foundation
import TestSupport
import Testing

@testable import MixModel

/// Requests for previews and their answers on the wire, and the meaning of levels.
@Suite struct PreviewMessageTests {
    private func body(of wire: [UInt8]) throws -> [UInt8] {
        let length = try #require(PreviewWire.length(wire))
        #expect(length == wire.count - 4)
        return Array(wire.dropFirst(4))
    }

    @Test func bothAreReadAsTheyWereWritten() throws {
        let requests = [
            PreviewRequest(side: 0, flv: []), PreviewRequest(side: 1280, flv: [1, 2, 3]),
            PreviewRequest(side: 0, asksForSample: true, flv: [1]),
            PreviewRequest(side: 1280, asksForSample: true, flv: []),
        ]
        for request in requests { #expect(PreviewRequest(body: try body(of: request.wireBytes)) == request) }
        let answers = [
            PreviewAnswer(), PreviewAnswer(jpeg: [0xFF, 0xD8]),
            PreviewAnswer(jpeg: [1], level: SoundLevel(peak: -3.5, rms: -12), failure: "no “keyframe”"),
            PreviewAnswer(sample: PictureSample(parts: [UInt8](repeating: 255, count: 1024))),
        ]
        for answer in answers { #expect(PreviewAnswer(body: try body(of: answer.wireBytes)) == answer) }
        let long = PreviewAnswer(failure: String(repeating: "x", count: 10_000))
        #expect(PreviewAnswer(body: try body(of: long.wireBytes))?.failure?.count == 500)
    }

    @Test func bytesOfStrangersNeverTrap() {
        var random = SeededGenerator(announcedFor: "previews on the wire")
        let whole = PreviewAnswer(jpeg: [1, 2], level: SoundLevel(peak: -1, rms: -2)).wireBytes
        for round in 0..<2000 {
            var bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            if round % 2 == 0 {
                bytes = Array(whole.dropFirst(4))
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
                bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            }
            _ = PreviewRequest(body: bytes)
            _ = PreviewAnswer(body: bytes)
            _ = PreviewWire.length(bytes)
        }
        #expect(PreviewRequest(body: [0xFF, 0xFF]) == nil, "no such side")
        #expect(PreviewRequest(body: [UInt8](repeating: 0, count: PreviewRequest.longest + 3)) == nil)
        #expect(PreviewAnswer(body: [UInt8](repeating: 0, count: PreviewAnswer.longest + 1)) == nil)
        let loud = #"{"level":{"peak":1e300,"rms":-1e300}}"#.utf8
        #expect(
            PreviewAnswer(body: PreviewWire.bytes(of: loud.count) + loud)?.level == SoundLevel(peak: 0, rms: -100))
    }

    @Test func levelsAreThoseOfTheSamples() {
        #expect(SoundLevel(of: [Float]()) == SoundLevel(peak: -100, rms: -100))
        #expect(SoundLevel(of: [0, 0] as [Float]) == SoundLevel(peak: -100, rms: -100))
        #expect(SoundLevel(of: [1, -1] as [Float]) == SoundLevel(peak: 0, rms: 0))
        #expect(SoundLevel(of: [0.1, .nan, -0.1, .infinity] as [Float]) == SoundLevel(peak: -20, rms: -20))
        let sine = (0..<4800).map { Float(sin(Double($0) * 2 * .pi / 48)) * 0.5 }
        #expect(SoundLevel(of: sine) == SoundLevel(peak: -6, rms: -9))
    }
}
