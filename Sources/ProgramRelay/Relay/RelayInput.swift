import MixModel

/// An event of a relay. Events are handled one at a time, in order.
enum RelayInput: Sendable {
    /// A new connection on the relay's socket.
    case connected(descriptor: Int32)
    case received(connection: Int, bytes: [UInt8])
    case disconnected(connection: Int)
    /// Bytes of a source, with `arrival` in ns of CLOCK_MONOTONIC. `attempt` tells a source's connections apart.
    case pulled(SourceID, attempt: Int, bytes: [UInt8], arrival: Int64)
    case pullEnded(SourceID, attempt: Int, reason: String)
    /// The state of a destination has changed.
    case outputChanged
    case mixer(generation: Int, MixerProcess.Event)
    /// The packager has reported, or is gone.
    case hlsChanged
    case recorder(RecordingSlot.Key, RecordingSlot.Consumer.Event)
    /// Time has passed: see `Ticker.Pace`.
    case tick
    /// The process was asked to end.
    case terminate
}
