import EncodedMedia

/// A file of a recording in progress: the current fragment, and the positions of its tracks.
struct RecordingPart: Sendable {
    private struct Picture {
        var frame: EncodedFrame
        /// Decoding time in units of the video track.
        var decodeTime: Int64
        var offset: Int32
        var data: [UInt8]
    }
    private struct Sound {
        var time: Int64
        var data: [UInt8]
    }

    let movie: MP4Movie
    /// Time 0 of the part on the stream's timeline.
    let origin: MediaTime
    /// Duration of the encoded fragments in seconds.
    private(set) var duration: Double

    private var configuration: VideoConfiguration?
    private var audioClock: AudioSampleClock
    private let samplesPerFrame: Int64
    private var sequence: Int
    private var pictures: [Picture] = []
    private var sounds: [Sound] = []
    private var lastPicture: Int64 = -1
    /// Distance between two pictures in units of the video track.
    private var interval: Int64 = 3_600
    private var nextSound: Int64 = 0
    private var begun: MediaTime?
    /// Size of the fragment in bytes, including the overhead for each frame.
    private var bytes = 0

    /// Size in bytes above which a fragment is complete, regardless of its times.
    static let fragmentByteLimit = 32 << 20

    init(movie: MP4Movie, origin: MediaTime, duration: Double = 0, sequence: Int = 1) {
        self.movie = movie
        self.origin = origin
        self.duration = duration
        self.sequence = sequence
        let format = movie.audioFormat
        samplesPerFrame = Int64(format?.samplesPerFrame ?? 1024)
        audioClock = AudioSampleClock(
            sampleRate: movie.audioTimescale, samplesPerFrame: format?.samplesPerFrame ?? 1024)
    }

    /// Continues an existing part at `time` of the stream, or at the end of the part if that is later.
    init(continuing continuation: ProgramRecording.Continuation, at time: MediaTime) {
        var continuation = continuation
        if continuation.leavesOutGap { continuation.origin = time - .seconds(continuation.duration) }
        let free = continuation.origin + .seconds(continuation.duration)
        let late = max(free - time, .zero)
        // Fragment numbers only have to increase.
        self.init(
            movie: continuation.movie, origin: continuation.origin - late, duration: continuation.duration,
            sequence: Int(UInt32(saturating: continuation.duration * 4)) + 1000)
        lastPicture = units(of: free - origin) - 1
        nextSound = (free - origin).units(rate: movie.audioTimescale)
    }

    mutating func configure(_ video: CodecConfiguration) { configuration = VideoConfiguration(video) }

    /// Time from the first frame of the fragment to its last one; `nil` while it is empty.
    var fragmentAge: MediaTime? {
        guard let begun else { return nil }
        let newest = max(pictures.last?.frame.dts ?? begun, sounds.last.map { time(ofSound: $0.time) } ?? begun)
        return newest - begun
    }

    var beginsWithIDR: Bool { pictures.first?.frame.isIDR ?? false }

    /// Returns whether the fragment is long enough to end before this frame.
    func isComplete(before frame: EncodedFrame) -> Bool {
        guard let begun else { return false }
        guard bytes <= Self.fragmentByteLimit else { return true }
        let age = frame.dts - begun
        guard frame.track == .video || movie.video == nil else {
            // The video has stopped.
            return age >= ProgramRecording.fragmentDuration * 3 / 2
        }
        return age >= ProgramRecording.fragmentDuration || frame.isIDR && age >= .milliseconds(500)
    }

    mutating func append(_ frame: EncodedFrame) {
        switch frame.track {
        case .video: appendPicture(frame)
        case .audio: appendSound(frame)
        }
        bytes += frame.footprint
        if begun == nil, !pictures.isEmpty || !sounds.isEmpty { begun = frame.dts }
    }

    private mutating func appendPicture(_ frame: EncodedFrame) {
        let decodeTime = max(units(of: frame.dts - origin), lastPicture + 1)
        // A gap is not an interval.
        if lastPicture >= 0, decodeTime - lastPicture < 90_000 { interval = decodeTime - lastPicture }
        lastPicture = decodeTime
        pictures.append(
            Picture(
                frame: frame, decodeTime: decodeTime,
                offset: Int32(clamping: units(of: frame.pts - origin) - decodeTime),
                data: frame.withParameterSets(of: configuration)))
    }

    private mutating func appendSound(_ frame: EncodedFrame) {
        let exact = audioClock.next(rounded: frame.pts)
        var time = (exact - origin).units(rate: movie.audioTimescale)
        if abs(time - nextSound) <= 1 { time = nextSound }
        // Audio before the first picture is dropped.
        guard time >= nextSound || nextSound > 0 else { return }
        time = max(time, nextSound - samplesPerFrame / 2)
        sounds.append(Sound(time: time, data: frame.payload))
        nextSound = time + samplesPerFrame
    }

    /// Removes and returns the pictures of the fragment in order of arrival; its audio stays.
    mutating func takeBackPictures() -> [EncodedFrame] {
        defer { pictures = [] }
        return pictures.map(\.frame)
    }

    /// Encodes the fragment and begins an empty one; returns `nil` if the fragment has no frames.
    ///
    /// - Parameter next: Decoding time of the next picture, if known.
    mutating func encodeFragment(next: MediaTime?) -> [UInt8]? {
        guard !pictures.isEmpty || !sounds.isEmpty else { return nil }
        var runs: [MP4Fragment.Run] = []
        var data: [[UInt8]] = []
        if let first = pictures.first {
            let end = next.map { units(of: $0 - origin) } ?? lastPicture + interval
            let times = pictures.map(\.decodeTime) + [max(end, lastPicture + 1)]
            runs.append(
                MP4Fragment.Run(
                    track: MP4Movie.videoTrack, decodeTime: first.decodeTime,
                    samples: pictures.indices.map { index in
                        let picture = pictures[index]
                        return MP4Fragment.Sample(
                            duration: UInt32(clamping: times[index + 1] - times[index]),
                            size: UInt32(picture.data.count),
                            compositionOffset: picture.offset, isSync: picture.frame.isIDR)
                    }))
            data.append(pictures.flatMap(\.data))
            duration = max(duration, Double(times[pictures.count]) / Double(MP4Movie.videoTimescale))
        }
        if let first = sounds.first {
            let times = sounds.map(\.time) + [nextSound]
            runs.append(
                MP4Fragment.Run(
                    track: MP4Movie.audioTrack, decodeTime: first.time,
                    samples: sounds.indices.map { index in
                        MP4Fragment.Sample(
                            duration: UInt32(clamping: times[index + 1] - times[index]),
                            size: UInt32(sounds[index].data.count))
                    }))
            data.append(sounds.flatMap(\.data))
            duration = max(duration, Double(nextSound) / Double(movie.audioTimescale))
        }
        pictures.removeAll(keepingCapacity: true)
        sounds.removeAll(keepingCapacity: true)
        begun = nil
        bytes = 0
        defer { sequence += 1 }
        return MP4Fragment.encode(sequence: sequence, runs, data: data)
    }

    private func units(of time: MediaTime) -> Int64 { time.units(rate: MP4Movie.videoTimescale) }

    private func time(ofSound units: Int64) -> MediaTime { origin + .units(units, rate: movie.audioTimescale) }
}
