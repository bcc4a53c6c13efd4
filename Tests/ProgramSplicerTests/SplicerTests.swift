import MixModel
import TestSupport
import Testing

@testable import EncodedMedia
@testable import ProgramSplicer

/// Invariants of every program, for any source and any moment of the switch.
@Suite struct SplicerTests {
    static let seeds: [UInt64] = Array(1...40)

    private func switches(_ count: Int, from start: Double, to end: Double, using random: inout SeededGenerator)
        -> [MediaTime]
    {
        (0..<count).map { _ in MediaTime.seconds(Double.random(in: start...end, using: &random)) }.sorted()
    }

    @Test("equal rates: no gap, no lost or repeated frame, at any moment", arguments: seeds)
    func continuity(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var source = SimulatedSource()
        source.phase = .milliseconds(Int.random(in: 0...49, using: &random))
        source.fps = [20, 25, 30].randomElement(using: &random) ?? 20
        source.gop = source.fps * 2
        source.sampleRate = [44100, 48000].randomElement(using: &random) ?? 48000
        var room = SplicerSimulation(source: source)
        room.run(seconds: 60, switches: switches(12, from: 1, to: 55, using: &random), using: &random)

        let mixed = room.splices.filter { $0.to.isMixer }.count
        #expect(mixed >= 2, "seed \(seed)")
        expectOrder(room, seed: seed)
        expectContinuousVideo(room, interval: .units(1, rate: source.fps), seed: seed)
        expectContinuousAudio(room, frame: .units(1024, rate: source.sampleRate), seed: seed)
    }

    @Test("B-frames: cuts only at closed boundaries, decoding times squeezed", arguments: seeds)
    func reordering(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var source = SimulatedSource()
        source.fps = 30
        source.bFrames = Int.random(in: 1...3, using: &random)
        source.gop = 60
        var room = SplicerSimulation(source: source)
        room.run(seconds: 60, switches: switches(12, from: 1, to: 55, using: &random), using: &random)

        #expect(room.splices.contains { $0.to.isMixer }, "seed \(seed)")
        expectOrder(room, seed: seed)
        expectContinuousVideo(room, interval: .units(1, rate: 30), seed: seed)
        expectContinuousAudio(room, frame: .units(1024, rate: 48000), seed: seed)
        expectReferences(room, source: source, seed: seed)
    }

    @Test("a mix of which frames are left out: no step is longer than one of its intervals", arguments: seeds)
    func dividedMix(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var source = SimulatedSource()
        source.phase = .milliseconds(Int.random(in: 0...49, using: &random))
        var room = SplicerSimulation(source: source)
        room.mixerDivisor = Int.random(in: 2...4, using: &random)
        room.run(seconds: 60, switches: switches(12, from: 1, to: 55, using: &random), using: &random)

        #expect(room.splices.filter { $0.to.isMixer }.count >= 2, "seed \(seed)")
        #expect(room.splices.contains { $0.from?.isMixer ?? false && !$0.to.isMixer }, "seed \(seed)")
        expectOrder(room, seed: seed)
        let longest = MediaTime.units(Int64(room.mixerDivisor), rate: source.fps) + .milliseconds(2)
        for (before, after) in zip(room.video, room.video.dropFirst()) {
            #expect(after.pts - before.pts <= longest, "seed \(seed), at \(before.pts)")
            // A copy lacks no frame.
            guard !Content(before.payload).isMixed, !Content(after.payload).isMixed else { continue }
            #expect(after.pts - before.pts <= .milliseconds(52), "seed \(seed), at \(before.pts)")
        }
        // The mix begins at exactly that frame, as if none were left out.
        for splice in room.splices where splice.to.isMixer {
            #expect(splice.videoGap ?? .zero <= .milliseconds(52), "seed \(seed)")
        }
        expectContinuousAudio(room, frame: .units(1024, rate: source.sampleRate), seed: seed)
    }

    @Test("a mix that is ahead of its late host, because it shows cards alone, costs no frame", arguments: seeds)
    func aheadOfTheHost(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var source = SimulatedSource()
        source.phase = .milliseconds(Int.random(in: 0...49, using: &random))
        source.bFrames = Int.random(in: 0...2, using: &random)
        source.gop = 42
        source.jitter = .milliseconds(Int.random(in: 5...140, using: &random))
        var room = SplicerSimulation(source: source)
        room.showsCards = true
        room.mixerLatency = .milliseconds(4)
        room.run(seconds: 60, switches: switches(12, from: 1, to: 55, using: &random), using: &random)

        #expect(room.splices.filter { $0.to.isMixer }.count >= 2, "seed \(seed)")
        expectOrder(room, seed: seed)
        expectContinuousVideo(room, interval: .milliseconds(50), seed: seed)
        expectContinuousAudio(room, frame: .units(1024, rate: 48000), seed: seed)
        expectReferences(room, source: source, seed: seed)
    }

    @Test("canvas of another rate: the gap is at most one interval of the slower", arguments: seeds)
    func unequalRates(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var source = SimulatedSource()
        source.fps = 30
        source.gop = 60
        source.jitter = .milliseconds(Int.random(in: 5...100, using: &random))
        var room = SplicerSimulation(source: source, mixerFPS: 20)
        room.showsCards = seed.isMultiple(of: 2)
        room.run(seconds: 60, switches: switches(12, from: 1, to: 55, using: &random), using: &random)

        expectOrder(room, seed: seed)
        #expect(room.splices.count > 2, "seed \(seed)")
        for splice in room.splices.dropFirst() {
            let gap = splice.videoGap ?? .zero
            #expect(gap > .zero && gap <= .milliseconds(52), "gap \(gap), seed \(seed)")
        }
        expectContinuousAudio(room, frame: .units(1024, rate: 48000), seed: seed)
    }

    @Test("a source without audio is spliced all the same", arguments: seeds.prefix(10))
    func silentSource(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var source = SimulatedSource()
        source.hasAudio = false
        var room = SplicerSimulation(source: source)
        room.run(seconds: 40, switches: switches(6, from: 1, to: 35, using: &random), using: &random)
        expectOrder(room, seed: seed)
        expectContinuousVideo(room, interval: .milliseconds(50), seed: seed)
    }

    @Test("a late mixer costs nothing: what was held goes out and the next boundary is tried")
    func lateMixer() {
        var random = SeededGenerator(seed: 7)
        var room = SplicerSimulation()
        room.mixerLatency = .milliseconds(600)
        room.run(seconds: 20, switches: [.seconds(3)], using: &random)
        expectOrder(room, seed: 7)
        expectContinuousVideo(room, interval: .milliseconds(50), seed: 7)
    }

    @Test("mixers that end on air are forgotten once another one has taken over, and one that returns is not")
    func removedFeeds() {
        var splicer = Splicer()
        for generation in 1...100 {
            let (mixer, time) = (SpliceInput.mixer(generation), MediaTime.seconds(Double(generation)))
            splicer.configure(mixer, CodecConfiguration(.h264, bytes: [1]))
            splicer.configure(mixer, CodecConfiguration(track: .audio, bytes: [0x11, 0x90]))
            _ = splicer.setTarget(mixer, now: time)
            for track in Track.allCases {
                let frame = EncodedFrame(track: track, pts: time, dts: time, isIDR: track == .video, payload: [1])
                _ = splicer.frame(frame, of: mixer, now: time)
            }
            #expect(splicer.onAir == mixer)
            _ = splicer.remove(mixer, now: time + .milliseconds(100))
            _ = splicer.advance(to: time + .milliseconds(600))
            #expect(splicer.feeds.keys.contains(mixer), "it is still on air")
            #expect(splicer.feeds.count <= 2, "\(splicer.feeds.count) feeds")
        }
        // A participant who is planned again meanwhile.
        let guest = SpliceInput.source("guest/camera")
        splicer.configure(guest, CodecConfiguration(.h264, bytes: [2]))
        _ = splicer.setTarget(guest, now: .seconds(101))
        _ = splicer.remove(guest, now: .seconds(101))
        splicer.configure(guest, CodecConfiguration(track: .audio, bytes: [0x11, 0x90]))
        _ = splicer.setTarget(.mixer(100), now: .seconds(101))
        _ = splicer.advance(to: .seconds(102))
        #expect(splicer.feeds.keys.contains(guest))
    }

    // MARK: Parameter sets that change during a splice

    private static let guest = SpliceInput.source("guest/camera")

    private func picture(_ milliseconds: Int, isIDR: Bool = false) -> EncodedFrame {
        let time = MediaTime.milliseconds(milliseconds)
        return EncodedFrame(
            track: .video, pts: time, dts: time, isIDR: isIDR, payload: [UInt8(truncatingIfNeeded: milliseconds)])
    }

    /// Returns the configurations and the pictures that viewers get, as a list of their contents.
    private func sent(_ actions: [Splicer.Action]) -> [String] {
        actions.compactMap { action in
            switch action {
            case .configure(let configuration): "configuration \(configuration.bytes[0])"
            case .emit(let frame): "\(frame.isIDR ? "IDR" : "picture") \(frame.pts.roundedMilliseconds)"
            case .requestIDR, .shift, .switched: nil
            }
        }
    }

    @Test("pictures that are held while a source is left go out before its next parameter sets")
    func configurationWhileLeaving() {
        var splicer = Splicer()
        let mixer = SpliceInput.mixer(1)
        splicer.configure(Self.guest, CodecConfiguration(.h264, bytes: [1]))
        splicer.configure(mixer, CodecConfiguration(.h264, bytes: [7]))
        var actions = splicer.setTarget(Self.guest, now: .zero)
        actions += splicer.frame(picture(0, isIDR: true), of: Self.guest, now: .zero)
        actions += splicer.setTarget(mixer, now: .milliseconds(10))
        actions += splicer.frame(picture(0), of: mixer, now: .milliseconds(10))
        let held = splicer.frame(picture(40), of: Self.guest, now: .milliseconds(40))
        #expect(held == [.requestIDR(generation: 1, at: .milliseconds(40))])
        actions += splicer.configure(Self.guest, CodecConfiguration(.h264, bytes: [2]))
        actions += splicer.frame(picture(80, isIDR: true), of: Self.guest, now: .milliseconds(80))
        actions += splicer.advance(to: .milliseconds(600))
        #expect(sent(actions) == ["configuration 1", "IDR 0", "picture 40", "configuration 2", "IDR 80"])
    }

    @Test("pictures that are held while a source is entered do not go out with its next parameter sets")
    func configurationWhileEntering() {
        var splicer = Splicer()
        let mixer = SpliceInput.mixer(1)
        splicer.configure(mixer, CodecConfiguration(.h264, bytes: [7]))
        splicer.configure(Self.guest, CodecConfiguration(.h264, bytes: [1]))
        var actions = splicer.setTarget(mixer, now: .zero)
        actions += splicer.frame(picture(0, isIDR: true), of: mixer, now: .zero)
        actions += splicer.setTarget(Self.guest, now: .milliseconds(10))
        actions += splicer.frame(picture(100, isIDR: true), of: Self.guest, now: .milliseconds(20))
        actions += splicer.configure(Self.guest, CodecConfiguration(.h264, bytes: [2]))
        actions += splicer.frame(picture(40), of: mixer, now: .milliseconds(40))
        actions += splicer.frame(picture(80), of: mixer, now: .milliseconds(80))
        actions += splicer.frame(picture(120, isIDR: true), of: Self.guest, now: .milliseconds(120))
        actions += splicer.advance(to: .milliseconds(600))
        #expect(
            sent(actions) == ["configuration 7", "IDR 0", "picture 40", "picture 80", "configuration 2", "IDR 120"])
    }

    // MARK: Records of splices

    @Test("a splice is recorded with the time from which pictures were held for it, not for one that was given up")
    func timeOfHolding() {
        var splicer = Splicer()
        let mixer = SpliceInput.mixer(1)
        for feed in [Self.guest, mixer] {
            splicer.configure(feed, CodecConfiguration(.h264, bytes: [feed.isMixer ? 7 : 1]))
            splicer.setInterval(.milliseconds(40), of: feed)
        }
        var actions = splicer.setTarget(Self.guest, now: .zero)
        actions += splicer.frame(picture(0, isIDR: true), of: Self.guest, now: .zero)
        actions += splicer.setTarget(mixer, now: .milliseconds(10))
        actions += splicer.frame(picture(0), of: mixer, now: .milliseconds(10))
        actions += splicer.frame(picture(40), of: Self.guest, now: .milliseconds(40))
        // Not the keyframe that was asked for.
        actions += splicer.frame(picture(40), of: mixer, now: .milliseconds(55))
        actions += splicer.frame(picture(80), of: Self.guest, now: .milliseconds(83))
        actions += splicer.frame(picture(80, isIDR: true), of: mixer, now: .milliseconds(98))
        actions += splicer.setTarget(Self.guest, now: .milliseconds(110))
        actions += splicer.frame(picture(160, isIDR: true), of: Self.guest, now: .milliseconds(150))
        actions += splicer.frame(picture(120), of: mixer, now: .milliseconds(165))
        actions += splicer.advance(to: .milliseconds(600))
        let splices = actions.compactMap { action -> Splice? in
            if case .switched(let splice) = action { splice } else { nil }
        }
        #expect(splices.map(\.to) == [Self.guest, mixer, Self.guest])
        #expect(splices.compactMap(\.heldAt) == [.zero, .milliseconds(83), .milliseconds(150)])
        #expect(splices.map(\.performedAt) == [.zero, .milliseconds(98), .milliseconds(165)])
    }

    // MARK: Invariants

    private func expectOrder(_ room: SplicerSimulation, seed: UInt64) {
        #expect(room.splicer.disorder == 0, "seed \(seed)")
        for (earlier, later) in zip(room.video, room.video.dropFirst()) {
            // Times are compared in RTMP's resolution.
            #expect(
                later.dts.roundedMilliseconds > earlier.dts.roundedMilliseconds,
                "decoding time at \(later.dts), seed \(seed)")
            #expect(later.dts <= later.pts, "decoded after it is shown at \(later.pts), seed \(seed)")
        }
        #expect(room.video.first?.isIDR == true)
        for splice in room.splices {
            // An IDR within a millisecond after the last frame is moved to its end.
            let isThere = room.video.contains { $0.isIDR && ($0.pts - splice.at).magnitude < .milliseconds(1) }
            #expect(isThere, "splice at \(splice.at) without an IDR, seed \(seed)")
        }
    }

    private func expectContinuousVideo(_ room: SplicerSimulation, interval: MediaTime, seed: UInt64) {
        let shown = room.video.sorted { $0.pts < $1.pts }
        for (earlier, later) in zip(shown, shown.dropFirst()) {
            let gap = later.pts - earlier.pts
            #expect((gap - interval).magnitude <= .milliseconds(2), "gap \(gap) at \(later.pts), seed \(seed)")
            let step = Content(later.payload).index - Content(earlier.payload).index
            #expect(step == 1, "content steps by \(step) at \(later.pts), seed \(seed)")
        }
    }

    private func expectContinuousAudio(_ room: SplicerSimulation, frame: MediaTime, seed: UInt64) {
        for (earlier, later) in zip(room.audio, room.audio.dropFirst()) {
            let gap = later.pts - earlier.pts
            #expect((gap - frame).magnitude <= .milliseconds(1), "audio gap \(gap) at \(later.pts), seed \(seed)")
            let step = Content(later.payload).index - Content(earlier.payload).index
            #expect(step == 1, "audio steps by \(step) at \(later.pts), seed \(seed)")
        }
    }

    /// Checks that every B-frame on air has the anchors on both sides on air too.
    private func expectReferences(_ room: SplicerSimulation, source: SimulatedSource, seed: UInt64) {
        var anchors: Set<Int> = []
        for frame in room.video {
            let content = Content(frame.payload)
            if frame.isIDR { anchors = [] }
            if content.isMixed { continue }
            if content.isAnchor {
                anchors.insert(content.index)
                continue
            }
            let start = content.index / source.gop * source.gop
            let inGOP = content.index - start
            let spacing = source.bFrames + 1
            let before = start + inGOP / spacing * spacing
            let after = start + min((inGOP / spacing + 1) * spacing, source.gop - 1)
            #expect(anchors.contains(before) && anchors.contains(after), "B-frame \(content.index), seed \(seed)")
        }
    }
}
