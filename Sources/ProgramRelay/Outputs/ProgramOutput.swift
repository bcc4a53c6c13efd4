import EncodedMedia
import MediaFormats
import MixModel
import ProgramSplicer

/// A running output of a program.
///
/// The program is encoded once; every output is given the same tags. The relay calls an output one call at a time, in
/// the order of the program, and nothing may hold it up: an output queues what it is given, loses what its receiver does
/// not take in time, and does its slow work in threads, tasks or processes of its own. What these find out is told
/// through `OutputContext.report`. An output is therefore safe to use from any thread.
protocol ProgramOutput: AnyObject, Sendable {
    /// Takes a changed plan of the same output while running.
    ///
    /// - Returns: `false` if it cannot go on with the plan, so that the relay closes it and opens another.
    func adopt(_ planned: PlannedOutput) -> Bool

    /// Queues tags of the program, which are shared with other outputs. Never waits.
    func send(shared tags: [OutputTag])

    /// Takes note of a change of what viewers see, which is in the tags to come or was in the last ones.
    func mark(_ mark: ProgramMark)

    /// Whether the output takes single sources besides the program, so that the relay calls `follow` and `take`.
    var takesSources: Bool { get }

    /// Takes the sources of the plan, several times a second and whenever the plan changes.
    ///
    /// - Parameter now: Current program time.
    /// - Returns: Work that takes time and that the relay performs, such as closing the file of a source that is gone.
    func follow(_ sources: [OutputSource], now: MediaTime) -> [@Sendable () async -> Void]

    /// Takes what comes of a source, before the program does.
    func take(_ event: SourceTimeline.Event, of source: SourceID)

    /// Whether the output does what is due in `tick()`, so that the relay calls it.
    var needsTicks: Bool { get }

    /// Does what is due, several times a second if `needsTicks`. Never waits.
    func tick()

    /// Tries at once if the output waits for its next attempt or was given up.
    func retryNow()

    /// States for the API, of one kind, in an order that stays.
    var statuses: [OutputStatus] { get }

    /// Ends the output within a time limit of its own: delivers what is queued, and closes what it has opened. The relay
    /// calls it once, last, and sends nothing more; its task is not cancelled.
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

/// A source of a program, for outputs that take sources untouched.
struct OutputSource: Sendable {
    var id: SourceID
    /// The source so far; its configurations and current group of pictures are those after which `take` goes on.
    var timeline: SourceTimeline
}
