import MixModel

/// Everything that happens to a relay. It is handled one at a time, in order.
enum RelayInput: Sendable {
    /// A new connection on the relay's socket.
    case connected(descriptor: Int32)
    case received(connection: Int, bytes: [UInt8])
    case disconnected(connection: Int)
    /// `arrival` in ns of CLOCK_MONOTONIC. `attempt` tells a source's connections apart.
    case pulled(SourceID, attempt: Int, bytes: [UInt8], arrival: Int64)
    case pullEnded(SourceID, attempt: Int, reason: String)
    /// The state of a destination is another one.
    case outputChanged
    case mixer(generation: Int, MixerProcess.Event)
    /// The packager has told something, or is gone.
    case hlsChanged
    case recorder(RecordingSlot.Key, RecordingSlot.Consumer.Event)
    /// Time has passed: see `Ticker.Pace`.
    case tick
    /// The process was asked to end.
    case terminate
}
