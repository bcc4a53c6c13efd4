import EncodedMedia
import Foundation
import Logging
import MediaFormats
import MixModel
import TextFormats

/// What an output may know of its relay and of the program that it joins.
struct OutputContext: Sendable {
    var room: RoomID
    var task: TaskID
    /// The `mixworker` binary, for outputs that do their work in a process of their own.
    var worker: URL
    /// Addresses that outputs may connect to; `nil` = any.
    var reach: Reach?
    var logger: Logger
    /// Headers of the program so far; empty before its first frame.
    var headers: [FLVTag] = []
    /// Tags from the program's last keyframe on.
    var group: [FLVTag] = []
    /// What viewers see in `group`; `nil` before the program's first frame.
    var mark: ProgramMark?
    /// Time of day at time 0 of the program's stream, in seconds since 1970; `nil` before the program's first frame.
    var wallClockAtZero: Double?
    /// Tells the relay what has happened. Returns at once; safe to call from any thread. A report is lost while too many
    /// wait.
    var report: @Sendable (OutputReport) -> Void = { _ in }

    /// Tags that precede the next one of the program: headers, and the current group of pictures.
    var preamble: [FLVTag] { headers + group }
}

/// What an output tells its relay.
enum OutputReport: Hashable, Sendable {
    /// The output's state may have changed.
    case changed
    /// A message for operators; the state may have changed, too. `code` is stable.
    case note(code: String, message: String, isBad: Bool)
    /// A receiver can show nothing before the next keyframe.
    case keyframeWanted

    /// Approximate size in memory, in bytes.
    var footprint: Int {
        switch self {
        case .changed, .keyframeWanted: 0
        case .note(let code, let message, _): code.utf8.count + message.utf8.count
        }
    }
}
