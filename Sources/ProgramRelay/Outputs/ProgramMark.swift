import EncodedMedia
import LayoutEngine
import MixModel

/// A change of what viewers see, or what they see where an output joins the program.
struct ProgramMark: Hashable, Sendable {
    /// Time in the stream that outputs get, as in its tags.
    var at: MediaTime
    /// Seconds since 1970.
    var wallClock: Double
    /// Composition before; `nil` if there was none, and where an output joins.
    var from: OnAir?
    var to: OnAir
    /// Source on air in a bypass.
    var source: SourceID?
    var cause: String
    /// Scene on air; `nil` in a bypass.
    var scene: Scene?
}
