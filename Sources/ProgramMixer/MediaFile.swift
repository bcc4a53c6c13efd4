import Dispatch
import EncodedMedia
import Foundation
import GStreamerKit
import MixModel
import Synchronization

/// A file of idle media, decoded slightly ahead of the time at which it is shown. All times are relative to its
/// beginning.
///
/// It is opened and closed on its own queue, because that may take long. The demultiplexer's threads wait while enough
/// is decoded. The creator must consume its output and tear it down.
final class MediaFile: Sendable {
    /// The decoded media of one track.
    struct Track<Content: Sendable>: Sendable {
        fileprivate(set) var content: [(time: MediaTime, content: Content)] = []
        /// Whether the file has the track; `nil` until that is known.
        fileprivate(set) var exists: Bool?
        /// Whether the track has ended.
        fileprivate(set) var hasEnded = false
        /// End of the decoded media so far.
        fileprivate(set) var end = MediaTime.zero
        fileprivate var bytes = 0
    }

    private struct State {
        var pictures = Track<SourcePicture>()
        var sound = Track<[Float]>()
        /// Time of the first picture, or of the first audio in a file without pictures.
        var origin: MediaTime?
        var pipeline: Pipeline?
        var failure: String?
        var isOver = false
    }

    /// Duration of media that is decoded ahead, so that the next file can be opened before this one ends.
    static let ahead = MediaTime.milliseconds(1200)
    /// Largest size of pictures decoded ahead, in bytes, in addition to one picture.
    static let mostBytes = 64 << 20
    /// Duration of audio beyond the last picture that is cut off, so that the next file can follow without a gap in the
    /// pictures.
    static let overhang = MediaTime.milliseconds(100)

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "idle-media")
    private let room = DispatchSemaphore(value: 0)
    private let news: @Sendable () -> Void

    /// Begins to open a file for a mix.
    /// - Parameter news: Called on other threads when there is more output, or a failure.
    init(_ path: String, in place: MediaPlace, setup: MixerSetup, news: @escaping @Sendable () -> Void) {
        self.news = news
        queue.async { [self] in
            do {
                try open(path, in: place, setup)
            } catch {
                state.withLock {
                    $0.failure = (error as? MediaPlace.Refusal)?.description ?? "cannot be played: \(error)"
                }
            }
            news()
        }
    }

    private func open(_ path: String, in place: MediaPlace, _ setup: MixerSetup) throws {
        let descriptor = try place.open(path)
        // The element opens the file itself, by the descriptor that was checked, before `play()` returns.
        defer { close(descriptor) }
        let (rate, channels) = (setup.sampleRate, setup.channels)
        let sound = "audio/x-raw,format=F32LE,layout=interleaved,rate=\(rate),channels=\(channels)"
        // Sinks that neither wait for a clock nor preroll: a track may be missing.
        let pipeline = try Pipeline(
            "filesrc name=file ! decodebin name=media "
                + "media. ! videoconvert name=pictures ! video/x-raw,format=I420 ! deinterlace "
                + "! videoflip video-direction=auto ! appsink name=picture sync=false async=false "
                + "media. ! audioconvert name=sounds ! audioresample ! \(sound) "
                + "! appsink name=sound sync=false async=false", name: "idle")
        try pipeline.element("file").set("location", to: "/proc/self/fd/\(descriptor)")
        try pipeline.appSink(
            "picture", onSample: { [weak self] in self?.take(picture: $0) },
            onEndOfStream: { [weak self] in self?.end { $0.pictures.hasEnded = true } })
        try pipeline.appSink(
            "sound", onSample: { [weak self] in self?.take(sound: $0, rate: rate, channels: channels) },
            onEndOfStream: { [weak self] in self?.end { $0.sound.hasEnded = true } })
        let isOver = state.withLock { state in
            state.pipeline = pipeline
            return state.isOver
        }
        if !isOver { try waiting { try await pipeline.play() } }
    }

    /// The first failure, as text that follows the file's name.
    var failure: String? {
        let (failure, pipeline) = state.withLock { ($0.failure, $0.pipeline) }
        return failure ?? pipeline?.firstError.map { "cannot be played: \($0.message)" }
    }

    /// Ends the decoding. Remaining media is dropped.
    /// - Parameter waits: Whether to wait until it has ended, at most 2 s: a demultiplexer may hang.
    func tearDown(waits: Bool) {
        state.withLock { state in
            state.isOver = true
            state.pictures.content = []
            state.sound.content = []
        }
        for _ in 0..<2 { room.signal() }
        let done = DispatchSemaphore(value: 0)
        queue.async { [self] in
            if let pipeline = state.withLock({ $0.pipeline.take() }) {
                _ = try? waiting { await pipeline.tearDown(within: .seconds(2)) }
            }
            done.signal()
        }
        if waits { _ = done.wait(timeout: .now() + .seconds(3)) }
    }

    // MARK: Output

    /// Whether the first frame is available, so that the file can begin.
    var isReady: Bool { state.withLock { $0.origin != nil } }

    /// Whether everything has been decoded.
    var isDecoded: Bool { state.withLock { Self.isDecoded($0) } }

    /// The tracks that the file lacks, as far as known.
    var lacks: Set<EncodedMedia.Track> {
        state.withLock { state in
            var lacking: Set<EncodedMedia.Track> = []
            if state.pictures.exists == false { lacking.insert(.video) }
            if state.sound.exists == false { lacking.insert(.audio) }
            return lacking
        }
    }

    /// The file's length, once everything has been decoded. It ends with its pictures, unless its audio is much longer.
    var length: MediaTime? {
        state.withLock { state in
            guard Self.isDecoded(state), let origin = state.origin else { return nil }
            let (pictures, sound) = (state.pictures.end - origin, state.sound.end - origin)
            return state.pictures.exists == true && sound - pictures <= Self.overhang ? pictures : max(pictures, sound)
        }
    }

    /// Delivers the media due before `time`, and returns the time of the next media.
    func take(
        until time: MediaTime
    ) -> (pictures: [(MediaTime, SourcePicture)], sound: [(MediaTime, [Float])], next: MediaTime?) {
        let taken = state.withLock { state in
            guard let origin = state.origin else {
                return (
                    pictures: [(MediaTime, SourcePicture)](), sound: [(MediaTime, [Float])](), next: MediaTime?.none
                )
            }
            let pictures = state.pictures.take(before: time + origin)
            let sound = state.sound.take(before: time + origin)
            let next = [state.pictures.content.first?.time, state.sound.content.first?.time].compactMap(\.self).min()
            return (
                pictures: pictures.map { ($0.time - origin, $0.content) },
                sound: sound.map { ($0.time - origin, $0.content) }, next: next.map { $0 - origin }
            )
        }
        if !taken.pictures.isEmpty { room.signal() }
        if !taken.sound.isEmpty { room.signal() }
        return taken
    }

    // MARK: Input

    /// Accepts a decoded picture, and waits while enough pictures are queued.
    private func take(picture sample: borrowing Sample) {
        guard let time = sample.runningTime.map(MediaTime.init(nanoseconds:)), let frame = sample.videoFrame() else {
            return
        }
        let size = sample.size
        let duration = sample.duration.map { MediaTime(nanoseconds: Int64(clamping: $0)) }
        waitForRoom { state in
            state.pictures.bytes < Self.mostBytes ? state.pictures.hasRoom(at: time) : state.pictures.content.isEmpty
        }
        let colour = frame.format.colorimetry
        let picture = SourcePicture(
            frame: frame,
            colour: ColourSignal(
                primaries: colour.primaries, transfer: colour.transfer, matrix: colour.matrix,
                isFullRange: colour.isFullRange))
        state.withLock { state in
            noteTracks(&state)
            state.origin = state.origin ?? time
            let usual = time - (state.pictures.content.last?.time ?? time)
            state.pictures.append(picture, at: time, end: time + (duration ?? usual), bytes: size)
        }
        news()
    }

    private func take(sound sample: borrowing Sample, rate: Int, channels: Int) {
        guard let time = sample.runningTime.map(MediaTime.init(nanoseconds:)) else { return }
        let samples = sample.withBytes { bytes in Array(bytes.bindMemory(to: Float.self)) }
        waitForRoom { $0.sound.hasRoom(at: time) }
        state.withLock { state in
            noteTracks(&state)
            // Pictures, if there are any, begin the file.
            if state.pictures.exists == false { state.origin = state.origin ?? time }
            state.sound.append(
                samples, at: time, end: time + .units(Int64(samples.count / channels), rate: rate), bytes: 0)
        }
        news()
    }

    /// Records which tracks the file has: all are known before the first frame arrives.
    private func noteTracks(_ state: inout State) {
        guard state.pictures.exists == nil, let pipeline = state.pipeline else { return }
        state.pictures.exists = (try? pipeline.element("pictures"))?.isLinked("sink") ?? false
        state.sound.exists = (try? pipeline.element("sounds"))?.isLinked("sink") ?? false
    }

    private func end(_ note: (inout State) -> Void) {
        state.withLock { state in
            noteTracks(&state)
            note(&state)
        }
        news()
    }

    /// Waits on the decoder's thread, which throttles the file.
    private func waitForRoom(_ hasRoom: (State) -> Bool) {
        while !state.withLock({ $0.isOver || hasRoom($0) }) { _ = room.wait(timeout: .now() + .milliseconds(200)) }
    }

    private static func isDecoded(_ state: State) -> Bool {
        guard let hasPictures = state.pictures.exists, let hasSound = state.sound.exists else { return false }
        return (!hasPictures || state.pictures.hasEnded) && (!hasSound || state.sound.hasEnded)
    }
}

extension MediaFile.Track {
    /// Returns whether another frame may be added at this time.
    fileprivate func hasRoom(at time: MediaTime) -> Bool {
        content.first.map { time - $0.time < MediaFile.ahead } ?? true
    }

    fileprivate mutating func append(_ new: Content, at time: MediaTime, end: MediaTime, bytes: Int) {
        content.append((time, new))
        self.bytes += bytes
        self.end = Swift.max(self.end, end)
    }

    fileprivate mutating func take(before time: MediaTime) -> [(time: MediaTime, content: Content)] {
        let count = content.firstIndex { $0.time >= time } ?? content.count
        let taken = Array(content.prefix(count))
        if count > 0 { bytes = bytes / content.count * (content.count - count) }
        content.removeFirst(count)
        return taken
    }
}
