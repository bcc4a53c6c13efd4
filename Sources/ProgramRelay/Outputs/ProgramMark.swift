import EncodedMedia
import LayoutEngine
import MixModel

/// A change of the picture that viewers see, or the current picture when an output joins the program.
struct ProgramMark: Hashable, Sendable {
    /// Time in the outputs' stream, as in its tags.
    var at: MediaTime
    /// Seconds since 1970.
    var wallClock: Double
    /// Composition before; `nil` if there was none, and when an output joins.
    var from: OnAir?
    var to: OnAir
    /// Source on air in a bypass.
    var source: SourceID?
    var cause: String
    /// Scene on air; `nil` in a bypass.
    var scene: Scene?
}
