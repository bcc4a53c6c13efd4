import MediaSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramSplicer

/// The memory for a stream has a limit that its times cannot evade.
@Suite struct MemoryBoundTests {
    private func picture(_ time: MediaTime, isIDR: Bool = false, size: Int = 1) -> EncodedFrame {
        EncodedFrame(
            track: .video, pts: time, dts: time, isIDR: isIDR, payload: [UInt8](repeating: 1, count: size))
    }
    private func sound(_ time: MediaTime, size: Int = 1) -> EncodedFrame {
        EncodedFrame(track: .audio, pts: time, dts: time, payload: [UInt8](repeating: 1, count: size))
    }
    private func footprint(_ frames: [EncodedFrame]) -> Int { frames.reduce(0) { $0 + $1.footprint } }

    @Test("a group of pictures of tiny frames is not kept without end")
    func tinyFrames() {
        var cache = GOPCache()
        cache.append(picture(.zero, isIDR: true))
        var most = 0
        for _ in 0..<300_000 {
            cache.append(picture(.zero))
            most = max(most, cache.frames.count)
        }
        #expect(most < 270_000)
        #expect(footprint(cache.frames) <= GOPCache.byteLimit)
        #expect(!cache.hasIDR)
    }

    @Test("a program's group of pictures of tiny frames is not kept without end")
    func tinyTags() {
        var program = FLVProgram()
        _ = program.configure(HLSProgram.video(0))
        _ = program.write(picture(.zero, isIDR: true))
        var most = 0
        for _ in 0..<550_000 {
            _ = program.write(picture(.zero))
            most = max(most, program.currentGOP.count)
        }
        #expect(most < 530_000)
        #expect(program.currentGOP.isEmpty)
    }

    @Test("sound whose times stand still is not remembered without end", arguments: [1, 100_000])
    func standingSound(size: Int) {
        var state = SpliceInputState()
        var most = 0
        for _ in 0..<(size == 1 ? 100_000 : 300) {
            state.remember(audio: sound(.seconds(5), size: size))
            most = max(most, state.recentAudio.count)
        }
        #expect(most * sound(.zero, size: size).footprint <= SpliceInputState.audioByteLimit)
        // The limit leaves the frames that a splice needs.
        state = SpliceInputState()
        for index in 0..<500 { state.remember(audio: sound(.units(Int64(index) * 1024, rate: 48000), size: 400)) }
        #expect(state.recentAudio.count >= 94)
    }

    @Test("a packager does not wait without end for a track, nor fill a segment whose times stand still")
    func segments() {
        var interleaver = FrameInterleaver()
        for _ in 0..<100 { interleaver.push(sound(.zero, size: 1 << 20), HLSProgram.audio) }
        var taken = 0
        while interleaver.next() != nil { taken += 1 }
        #expect(taken >= 68)
        var segmenter = ProgramSegmenter(segmentSeconds: 4)
        _ = segmenter.push(.configuration(HLSProgram.video(0)), wallClock: 0)
        _ = segmenter.push(.configuration(HLSProgram.audio), wallClock: 0)
        for index in 0..<50 {
            let time = MediaTime.milliseconds(10_000 + 40 * index)
            _ = segmenter.push(.frame(picture(time, isIDR: index == 0)), wallClock: 0)
            _ = segmenter.push(.frame(sound(time)), wallClock: 0)
        }
        var segments = 0
        for _ in 0..<120 { segments += segmenter.push(.frame(sound(.zero, size: 1 << 20)), wallClock: 0).count }
        #expect(segments >= 1)
    }

    @Test("a fragment of a recording ends when it is large, whatever its times say")
    func fragments() {
        var recording = ProgramRecording()
        _ = recording.take(.configuration(HLSProgram.video(0)))
        _ = recording.take(.configuration(HLSProgram.audio))
        _ = recording.take(.frame(picture(.seconds(100), isIDR: true, size: 9)))
        var written = 0
        // The source has jumped back: no frame is older than a second any more.
        for _ in 0..<80 {
            for action in recording.take(.frame(picture(.zero, size: 1 << 20))) {
                if case .write = action { written += 1 }
            }
        }
        #expect(written >= 2)
    }

    @Test("what comes before a recording can begin is not kept without end")
    func beforeABeginning() {
        var recording = ProgramRecording()
        _ = recording.take(.configuration(HLSProgram.audio))
        for _ in 0..<100 { _ = recording.take(.frame(sound(.zero, size: 1 << 20))) }
        // The end writes the queued frames: all of them would be 100 MiB.
        var bytes = 0
        for case .write(let fragment, _) in recording.finish() { bytes += fragment.count }
        #expect(bytes <= 34 << 20)
    }
}
