import EncodedMedia
import MixModel

/// An event of a relay. Events are handled one at a time, in order.
enum RelayInput: Sendable {
    /// A new connection on the relay's socket.
    case connected(descriptor: Int32)
    /// Commands of a connection; `size` is their number of bytes.
    case commands(connection: Int, [CommandReader.Line], size: Int)
    case disconnected(connection: Int)
    /// Items of a source. `attempt` distinguishes a source's connections, `size` is their footprint in bytes, and
    /// `arrival` is in ns of CLOCK_MONOTONIC.
    case pulled(SourceID, attempt: Int, [MediaItem], size: Int, arrival: Int64)
    case pullEnded(SourceID, attempt: Int, PullEnd)
    case output(OutputReport)
    /// The outputs of a program that stands by are closed.
    case silenced
    case mixer(generation: Int, MixerProcess.Event)
    /// An answer about a keyframe; `nil` when the process with this number has ended.
    case examined(generation: Int, PreviewAnswer?)
    /// Time has passed: see `TickSchedule`.
    case tick
    /// The process was asked to end.
    case terminate
}
