import LayoutEngine
import MixModel
import TestSupport

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramSplicer

/// A relay's program with a host, a guest and a mixer that all send arbitrary bytes, and all of its consumers: the work
/// of `Relay` on these bytes, without sockets, threads and clocks.
package struct HostileRoom {
    private struct Source {
        let id: SourceID
        var reader: FLVReader? = FLVReader(videoCodecs: [.h264])
        var timeline = SourceTimeline()
        var taker = ProgramTaker()
        /// The stream as written for a participant's recording.
        var stream = FLVProgram()
        var easing = Easing()
        var sampler = FrameSampler(interval: .milliseconds(50), firstTick: .zero, isHost: false)
        var sound = PCMTimeline(sampleRate: 48000, channels: 1)
    }

    private var sources = ["host/camera", "guest/camera"].map { Source(id: $0) }
    private var mixerReader = MessageReader<MixerReport>()
    private var pace = FramePace()
    package private(set) var splicer = Splicer()
    private var program = FLVProgram()
    private var messages = SEISchedule()
    private var taker = ProgramTaker()
    private var now = MediaTime.zero
    private var appliedAt = MediaTime.zero
    private var plan = HostileRoom.plan(.bypass("host/camera"))
    private let mixer = SpliceInput.mixer(1)

    /// Frame intervals, which must be representable in a status and usable for a mixer, regardless of the claimed
    /// times.
    package var intervals: [MediaTime] { sources.map(\.timeline.frameInterval) }
    /// Memory of the frames and tags kept for later viewers, in bytes.
    package var kept: [Int] {
        sources.map { $0.timeline.currentGOP.reduce(0) { $0 + $1.footprint } }
            + [program.currentGOP.reduce(0) { $0 + $1.footprint }]
    }

    package static func plan(_ mode: ProgramPlan.Mode) -> ProgramPlan {
        let panes = ["host/camera", "guest/camera"].map {
            Pane(source: $0, user: $0, x: 0, y: 0, width: 360, height: 640)
        }
        return ProgramPlan(
            revision: 1, task: "t", room: "r", sources: [], mode: mode, scene: Scene(canvas: .portrait, panes: panes),
            outputs: [], causedAt: 0, cause: "")
    }

    package init() {
        messages.settings = SEISettings(wallClock: .init(intervalMs: 1000))
        for source in sources { splicer.setInterval(source.timeline.frameInterval, of: .source(source.id)) }
    }

    package mutating func pass(_ time: MediaTime) {
        now += time
        perform(splicer.advance(to: now))
        reconsider()
    }

    package mutating func apply(_ mode: ProgramPlan.Mode, tracks: SourceSelection.Tracks) {
        plan = Self.plan(mode)
        plan.tracks = tracks
        appliedAt = now
        perform(splicer.setTracks(tracks, now: now))
        distribute(program.setTracks(tracks))
        reconsider()
    }

    /// Receives bytes of a publisher, split anywhere. A stream that is no longer readable is connected anew.
    package mutating func receive(_ bytes: [UInt8], from index: Int) {
        guard let items = try? sources[index].reader?.push(bytes) else {
            sources[index].reader = FLVReader(videoCodecs: [.h264])
            _ = try? sources[index].reader?.push(FLVTag.fileHeader)
            perform(splicer.ended(.source(sources[index].id), now: now))
            return
        }
        for item in items { take(item, from: index) }
    }

    private mutating func take(_ item: MediaItem, from index: Int) {
        let id = sources[index].id
        let feed = SpliceInput.source(id)
        let reference = index == 0 ? MediaTime.zero : sources[0].timeline.clock.leastLateness ?? .zero
        let isCopied = splicer.onAir == feed
        let events = sources[index].timeline.accept(
            item, arrival: now,
            as: .init(isOnAir: isCopied || splicer.onAir == mixer, isCopied: isCopied, reference: reference))
        for event in events {
            switch event {
            case .configuration(let configuration):
                perform(splicer.configure(feed, configuration))
                let tags = sources[index].stream.configure(configuration)
                sources[index].taker.take(tags)
            case .moved(let amount):
                splicer.move(feed, by: amount)
                sources[index].easing.absorb(amount)
            case .discontinuity: sources[index].easing = Easing()
            case .frame(let frame):
                if frame.track == .video { splicer.setInterval(sources[index].timeline.frameInterval, of: feed) }
                let tags = sources[index].stream.write(sources[index].easing.place(frame))
                sources[index].taker.take(tags)
                perform(splicer.frame(frame, of: feed, now: now))
                decode(frame, of: index)
            }
        }
        reconsider()
    }

    /// Handles the times of decoded frames as a mixer does.
    private mutating func decode(_ frame: EncodedFrame, of index: Int) {
        switch frame.track {
        case .video:
            sources[index].sampler.append(frame.pts)
            if case .frame(let time) = sources[index].sampler.choice(tick: now) {
                sources[index].sampler.commit(tick: now, shown: time)
            }
        case .audio:
            sources[index].sound.append(at: frame.pts, [Float](repeating: 0, count: 64))
            let frames = now.units(rate: 48000)
            _ = sources[index].sound.power(frames..<frames + 64)
            sources[index].sound.discard(before: frames)
        }
    }

    /// Receives bytes of a mixer.
    package mutating func receiveMixed(_ bytes: [UInt8]) {
        mixerReader.push(bytes)
        do {
            while let report = try mixerReader.next() {
                switch report {
                case .configuration(let configuration): perform(splicer.configure(mixer, configuration))
                case .frame(let frame):
                    pace.take(pts: frame.pts, now: now, origin: .zero, interval: .milliseconds(50))
                    perform(splicer.frame(frame, of: mixer, now: now))
                case .delays(let delays): splicer.setDelays(delays, in: mixer)
                default: break
                }
            }
        } catch {
            mixerReader = MessageReader()
            perform(splicer.remove(mixer, now: now))
        }
    }

    private mutating func reconsider() {
        let now = now
        let facts = Dictionary(
            uniqueKeysWithValues: sources.map { source in
                let timeline = source.timeline
                let last = timeline.video == nil ? timeline.lastAudio : timeline.lastVideo
                let fact = ProgramDirector.SourceFact(
                    isDecodable: timeline.isDecodable(at: now), isSilent: last.map { now - $0 > .seconds(1) } ?? true,
                    hasVideo: timeline.video != nil, isSettled: timeline.clock.isSettled(at: now),
                    hasKeyframe: timeline.video == nil || timeline.hasKeyframe)
                return (source.id, fact)
            })
        let decision = ProgramDirector().decide(
            plan: plan, age: now - appliedAt, onAir: splicer.onAir, sources: facts, isMixerFailing: false)
        switch decision.aim {
        case .wait: break
        case .source(let id): perform(splicer.setTarget(.source(id), now: now))
        case .mixer: perform(splicer.setTarget(mixer, now: now))
        }
    }

    private mutating func perform(_ actions: [Splicer.Action]) {
        for action in actions {
            switch action {
            case .configure(let configuration): distribute(program.configure(configuration))
            case .emit(let frame):
                let scene = plan.scene
                _ = messages.messages(at: frame.dts, isIDR: frame.isIDR) {
                    SEILayout(scene: scene, volumes: [:], at: 0)
                }
                distribute(program.write(frame))
            case .shift(let id, let amount):
                for index in sources.indices where sources[index].id == id {
                    sources[index].timeline.shift(by: amount)
                    sources[index].easing.absorb(amount)
                }
            case .requestIDR, .switched: break
            }
        }
    }

    private mutating func distribute(_ tags: [FLVTag]) { taker.take(tags) }

    package mutating func finish() {
        taker.finish()
        for index in sources.indices { sources[index].taker.finish() }
    }
}

/// The readers of a program in other processes: a recorder, and a packager with a rendition.
package struct ProgramTaker {
    private var reader = FLVReader()
    private var recording = ProgramRecording(limits: .init(partSeconds: 5))
    private var index: MP4Index?
    private var offset: Int64 = 0
    private var segmenter = ProgramSegmenter(segmentSeconds: 2)
    private var writer = TransportStreamWriter()
    private var variant = PlaylistVariant(name: "video", targetDuration: 4, keepsAll: false)
    private var assembler = RenditionAssembler()
    private var isBroken = false

    package init() { _ = try? reader.push(FLVTag.fileHeader) }

    package mutating func take(_ tags: [FLVTag]) {
        guard !isBroken, let items = try? reader.push(tags.flatMap { $0.encoded }) else {
            isBroken = true
            return
        }
        for item in items {
            take(recording.take(item))
            for segment in segmenter.push(item, wallClock: 1_700_000_000_000) { take(segment) }
            if case .configuration(let video) = item, video.track == .video { assembler.push(video) }
            if case .frame(let frame) = item, frame.track == .video { assembler.push(frame) }
        }
    }

    private mutating func take(_ actions: [ProgramRecording.Action]) {
        for action in actions {
            switch action {
            case .begin(let movie, _): index = MP4Index(movie: Array(movie.header.dropFirst(MP4Index.movieOffset)))
            case .write(let bytes, let duration):
                _ = MP4Index.estimatedSize(afterSeconds: duration)
                let reader = MP4Reader(bytes: bytes)
                if let moof = reader.box("moof", in: 0..<bytes.count) {
                    _ = index?.add(moof: Array(bytes[moof.whole]), at: offset)
                }
                offset += Int64(bytes.count)
            case .end: _ = index?.movie
            case .finished: break
            }
        }
    }

    private mutating func take(_ segment: ProgramSegment) {
        _ = writer.segment(
            segment.frames, video: segment.video, audio: segment.audio, isDiscontinuity: segment.isDiscontinuity)
        let entry = PlaylistEntry(
            number: variant.nextNumber, uri: "x", duration: segment.duration.nanoseconds / 1000,
            wallClock: segment.wallClock, isDiscontinuity: segment.isDiscontinuity, format: SegmentFormat(segment))
        variant.append(entry, isIndependent: segment.isIndependent, window: 6, now: segment.wallClock)
        _ = variant.live.text()
        assembler.push(segment, number: entry.number)
        while assembler.next() != nil {}
    }

    package mutating func finish() {
        take(recording.finish())
        for segment in segmenter.finish() { take(segment) }
    }
}
