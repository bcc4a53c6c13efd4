import EncodedMedia
import MediaFormats
import MixModel
import ProgramSplicer

/// A running output of a program.
///
/// The program is encoded once; every output gets the same tags. The relay makes one call at a time, in the order of
/// the program, and calls must not block: an output queues the tags, drops those that its receiver does not take in
/// time, and does slow work in its own threads, tasks or processes. These report through `OutputContext.report`, so an
/// output must be safe to use from any thread.
protocol ProgramOutput: AnyObject, Sendable {
    /// Applies a changed plan of the same output while running.
    ///
    /// - Returns: `false` if it cannot continue with the plan, so that the relay closes it and opens another.
    func adopt(_ planned: PlannedOutput) -> Bool

    /// Queues tags of the program, which are shared with other outputs. Never waits.
    func send(shared tags: [OutputTag])

    /// Records a change of the picture that viewers see, which is in the next tags or was in the last ones.
    func mark(_ mark: ProgramMark)

    /// Whether the output also uses single sources, so that the relay calls `follow` and `take`.
    var takesSources: Bool { get }

    /// Updates the sources of the plan; called several times a second and whenever the plan changes.
    ///
    /// - Parameter now: Current program time.
    /// - Returns: Work that takes time and that the relay must perform, such as closing the file of a source that is
    ///   gone.
    func follow(_ sources: [OutputSource], now: MediaTime) -> [@Sendable () async -> Void]

    /// Handles an event of a source, before the program does.
    func take(_ event: SourceTimeline.Event, of source: SourceID)

    /// Whether the output needs calls of `tick()`.
    var needsTicks: Bool { get }

    /// Performs due work; called several times a second if `needsTicks`. Never waits.
    func tick()

    /// Retries at once if the output waits for its next attempt or was given up.
    func retryNow()

    /// States for the API, all of one kind, in a stable order.
    var statuses: [OutputStatus] { get }

    /// Ends the output within its own time limit: delivers the queued tags, and closes everything that it has opened.
    /// The relay calls it once, last, and sends nothing more; its task is not cancelled.
    func close() async
}

extension ProgramOutput {
    func mark(_ mark: ProgramMark) {}
    var takesSources: Bool { false }
    func follow(_ sources: [OutputSource], now: MediaTime) -> [@Sendable () async -> Void] { [] }
    func take(_ event: SourceTimeline.Event, of source: SourceID) {}
    var needsTicks: Bool { false }
    func tick() {}
    func retryNow() {}
}

/// A source of a program, for outputs that use sources untouched.
struct OutputSource: Sendable {
    var id: SourceID
    /// The source so far; `take` continues after its configurations and current group of pictures.
    var timeline: SourceTimeline
}
