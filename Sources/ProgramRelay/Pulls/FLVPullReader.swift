import EncodedMedia
import MediaFormats
import RTMP
import Synchronization

/// Reads the FLV stream of a pull on the pull's own thread.
///
/// An unreadable stream ends the pull; items before the fault in the same bytes are not delivered. Tracks of a codec
/// that the program does not carry go through a `TrackTranscoder`, while the other track is read here.
final class FLVPullReader: Sendable {
    fileprivate struct State {
        var reader: FLVReader
        /// Whether the stream cannot be read any further.
        var isBroken = false
        /// Cues that were read and not yet delivered.
        var cues: [FLVCue] = []
    }

    private let receiver: PullReceiver
    private let state: Mutex<State>
    private let transcoder: TrackTranscoder?
    private let onCue: (@Sendable (FLVCue) -> Void)?

    /// Creates the reader of an external stream.
    convenience init(_ receiver: PullReceiver, _ request: PullRequest) {
        let transcoder = request.worker.map { TrackTranscoder(receiver, worker: $0) }
        let reader = FLVReader(videoCodecs: request.videoCodecs, setsAside: transcoder != nil)
        self.init(receiver, reader, transcoder)
    }

    /// Creates the reader of a worker's stream.
    ///
    /// - Parameter onCue: Called with the cues, after the items that precede them.
    convenience init(_ receiver: PullReceiver, onCue: (@Sendable (FLVCue) -> Void)? = nil) {
        self.init(receiver, FLVReader(), nil, onCue: onCue)
    }

    init(
        _ receiver: PullReceiver, _ reader: FLVReader, _ transcoder: TrackTranscoder?,
        onCue: (@Sendable (FLVCue) -> Void)? = nil
    ) {
        self.receiver = receiver
        self.transcoder = transcoder
        self.onCue = onCue
        state = Mutex(State(reader: reader))
    }

    /// Tracks that are transcoded.
    var transcoded: Set<Track> { transcoder?.transcoded ?? [] }

    /// Ends the worker that transcodes, if there is one. Returns at once.
    func stop() { transcoder?.stop() }

    /// Ends the worker that transcodes, and waits for its end.
    func close() async { await transcoder?.close() }

    /// Reads the next bytes of a stream with an FLV header, split anywhere.
    ///
    /// - Parameter arrival: Time of arrival in ns of CLOCK_MONOTONIC.
    func push(_ bytes: [UInt8], arrivedAt arrival: Int64) {
        take(arrivedAt: arrival) { [keepsCues = onCue != nil] state in state.read(bytes, keepsCues: keepsCues) }
    }

    /// Reads messages, whose bodies are those of FLV tags (RTMP 1.0, §7.1.4 and §7.1.5).
    func push(_ messages: [RTMPMessage], arrivedAt arrival: Int64) {
        take(arrivedAt: arrival) { state in state.read(messages) }
    }

    private func take(
        arrivedAt arrival: Int64, _ read: (inout State) -> Result<[MediaItem], FLVReader.Failure>
    ) {
        receiver.connected()
        let (result, foreign, reader) = state.withLock { state in
            let result = state.isBroken ? .success([]) : read(&state)
            let foreign = state.reader.takeAside()
            return (result, foreign, foreign.isEmpty ? nil : state.reader)
        }
        switch result {
        case .success(let items):
            receiver.deliver(items, arrivedAt: arrival)
            if let reader { transcoder?.take(foreign, from: reader) }
            guard let onCue else { return }
            for cue in state.withLock({ state in
                defer { state.cues = [] }
                return state.cues
            }) { onCue(cue) }
        case .failure(let failure): receiver.end(PullEnd(failure))
        }
    }
}

extension FLVPullReader.State {
    fileprivate mutating func read(_ bytes: [UInt8], keepsCues: Bool) -> Result<[MediaItem], FLVReader.Failure> {
        do throws(FLVReader.Failure) {
            var items = try reader.push(bytes)
            items.removeAll { item in
                guard case .metadata(let body) = item else { return false }
                if keepsCues, let cue = FLVCue(body: body) { cues.append(cue) }
                return true
            }
            return .success(items)
        } catch {
            isBroken = true
            return .failure(error)
        }
    }

    fileprivate mutating func read(_ messages: [RTMPMessage]) -> Result<[MediaItem], FLVReader.Failure> {
        var items: [MediaItem] = []
        items.reserveCapacity(messages.count)
        do throws(FLVReader.Failure) {
            for message in messages {
                // Nothing else in metadata matters to a relay.
                if message.kind == .script, !FLVMetadata.isPaused(message.body) { continue }
                guard let kind = FLVTag.Kind(rawValue: message.kind.rawValue) else {
                    throw .brokenTag(message.kind.rawValue)
                }
                try reader.read(kind, timestamp: message.timestamp, body: message.body[...], into: &items)
            }
            return .success(items)
        } catch {
            isBroken = true
            return .failure(error)
        }
    }
}
