import EncodedMedia

/// Merges the two tracks of a program, each in its own order, into one sequence.
///
/// Audio is ordered by presentation time, video by decoding time, shifted so that an IDR is placed at its presentation
/// time.
struct FrameInterleaver: Sendable {
    struct Entry: Hashable, Sendable {
        var frame: EncodedFrame
        var configuration: CodecConfiguration
        /// Position in the sequence.
        var time: MediaTime
    }

    private var queues: [Track: [Entry]] = [.audio: [], .video: []]
    /// Time of the newest frame of each track.
    private var newest: [Track: MediaTime] = [:]
    /// Time from decoding an IDR to showing it.
    private var reordering = MediaTime.zero
    /// Size of the waiting frames in bytes, as counted by `EncodedFrame.footprint`.
    private var bytes = 0

    /// Longest wait of one track for the other, in media time. A track that lags by more does not delay the other.
    static let patience = MediaTime.seconds(1)
    /// Limit of the waiting frames in bytes; above it, neither track waits for the other.
    static let byteLimit = 32 << 20

    mutating func push(_ frame: EncodedFrame, _ configuration: CodecConfiguration) {
        var time = frame.pts
        if frame.track == .video {
            if frame.isIDR { reordering = frame.pts - frame.dts }
            time = frame.dts + reordering
            // A smaller reordering than before must not reverse the decoding order.
            if let last = queues[.video]?.last { time = max(time, last.time) }
        }
        queues[frame.track, default: []].append(Entry(frame: frame, configuration: configuration, time: time))
        newest[frame.track] = time
        bytes += frame.footprint
    }

    /// Returns the next frame, once no earlier one is expected.
    mutating func next(isEnding: Bool = false) -> Entry? {
        let audio = queues[.audio]?.first
        let video = queues[.video]?.first
        let track: Track
        switch (audio, video) {
        case (nil, nil): return nil
        // An IDR precedes the audio of the same time, which belongs to its segment.
        case (let audio?, let video?): track = audio.time < video.time ? .audio : .video
        case (let audio?, nil):
            guard isEnding || isClear(audio, behind: .video) else { return nil }
            track = .audio
        case (nil, let video?):
            guard isEnding || isClear(video, behind: .audio) else { return nil }
            track = .video
        }
        let entry = queues[track]?.removeFirst()
        bytes -= entry?.frame.footprint ?? 0
        return entry
    }

    private func isClear(_ entry: Entry, behind other: Track) -> Bool {
        if let passed = newest[other], passed >= entry.time, passed - entry.time < .seconds(10) { return true }
        guard let last = newest[entry.frame.track], bytes <= Self.byteLimit else { return true }
        return (last - entry.time).magnitude > Self.patience
    }
}
