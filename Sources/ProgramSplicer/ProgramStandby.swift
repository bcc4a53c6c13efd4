import EncodedMedia

/// Holds a program back while another relay sends it, and keeps the last group of pictures, so that the relay can take
/// over at once. Pure; all times are program time.
public struct ProgramStandby: Sendable {
    public enum Phase: Hashable, Sendable {
        /// Everything is sent.
        case sending
        /// Everything before the next keyframe is sent, but at most until this time.
        case stopping(by: MediaTime)
        /// Nothing is sent.
        case silent
        /// Sound is sent; pictures are sent from the next keyframe on.
        case starting
    }

    /// The treatment of an action.
    public enum Verdict: Hashable, Sendable {
        case send
        /// The action is kept, or not needed.
        case keep
        /// Like `keep`; with this action the program has stopped.
        case stop
    }

    public private(set) var phase = Phase.sending
    /// Latest configurations.
    private var configurations: [Track: CodecConfiguration] = [:]
    /// Configurations at a keyframe, and everything since then.
    private var group: [Splicer.Action] = []
    private var bytes = 0

    /// Longest time for which a program without a keyframe continues.
    public static let patience = MediaTime.seconds(5)

    public init() {}

    /// Whether nothing is sent.
    public var isSilent: Bool { phase == .silent }

    /// Begins the standby.
    ///
    /// - Parameter isOnAir: Whether anything was sent. If not, the program need not wait for a keyframe.
    /// - Returns: Whether the program has stopped.
    public mutating func begin(isOnAir: Bool, now: MediaTime) -> Bool {
        switch phase {
        case .stopping: return false
        case .silent: return true
        case .sending, .starting:
            phase = isOnAir ? .stopping(by: now + Self.patience) : .silent
            return isSilent
        }
    }

    /// Decides about an action: a configuration or a frame. All others are sent in any phase.
    public mutating func take(
        _ action: Splicer.Action, tracks: TrackSelection, now: @autoclosure () -> MediaTime
    ) -> Verdict {
        switch action {
        case .configure(let configuration): configurations[configuration.track] = configuration
        case .emit: break
        case .requestIDR, .shift, .switched: return .send
        }
        switch phase {
        case .sending: return .send
        case .starting:
            guard case .emit(let frame) = action, frame.track == .video else { return .send }
            guard frame.isIDR else { return .keep }
            phase = .sending
            return .send
        case .stopping(let limit):
            guard case .emit(let frame) = action else { return .send }
            let isEnd = frame.track == .video ? frame.isIDR : tracks == .audio
            guard isEnd || now() >= limit else { return .send }
            phase = .silent
            keep(action)
            return .stop
        case .silent:
            keep(action)
            return .keep
        }
    }

    /// Stops a program that has had no frame for too long.
    ///
    /// - Returns: Whether this call has stopped it.
    public mutating func advance(to now: MediaTime) -> Bool {
        guard case .stopping(let limit) = phase, now >= limit else { return false }
        phase = .silent
        return true
    }

    /// Ends the standby.
    ///
    /// - Parameter keepsGroup: Whether the pictures since the last keyframe are needed. Without them, pictures begin with
    ///   the next one.
    /// - Returns: The actions to send before anything else.
    public mutating func leave(keepsGroup: Bool = true) -> [Splicer.Action] {
        defer { (group, bytes) = ([], 0) }
        guard phase == .silent else {
            if case .stopping = phase { phase = .sending }
            return []
        }
        let known = configurations.values.sorted { $0.track == .video && $1.track != .video }
        guard keepsGroup, !group.isEmpty else {
            // An audio-only program waits for no picture.
            phase = configurations[.video] == nil ? .sending : .starting
            return known.map { .configure($0) }
        }
        phase = .sending
        return group
    }

    /// Time of the first kept picture; `nil` if there is none.
    public var firstPicture: MediaTime? {
        for case .emit(let frame) in group where frame.track == .video { return frame.dts }
        return nil
    }

    private mutating func keep(_ action: Splicer.Action) {
        if case .emit(let frame) = action, frame.track == .video, frame.isIDR {
            group = configurations.values.sorted { $0.track == .video && $1.track != .video }.map { .configure($0) }
            bytes = 0
        } else if group.isEmpty {
            return
        }
        group.append(action)
        if case .emit(let frame) = action { bytes += frame.footprint }
        // Too long to be kept: the next group will be.
        if bytes > GOPCache.byteLimit { (group, bytes) = ([], 0) }
    }
}
