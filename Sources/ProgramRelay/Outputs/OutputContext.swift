import EncodedMedia
import Foundation
import Logging
import MediaFormats
import MixModel
import TextFormats

/// The information that an output gets about its relay and the program that it joins.
struct OutputContext: Sendable {
    var room: RoomID
    var task: TaskID
    /// The `mixworker` binary, for outputs that work in their own process.
    var worker: URL
    /// Addresses to which outputs may connect; `nil` allows any.
    var reach: Reach?
    var logger: Logger
    /// Headers of the program so far; empty before its first frame.
    var headers: [FLVTag] = []
    /// Tags since the program's last keyframe.
    var group: [FLVTag] = []
    /// The picture that viewers see in `group`; `nil` before the program's first frame.
    var mark: ProgramMark?
    /// Time of day at time 0 of the program's stream, in seconds since 1970; `nil` before the program's first frame.
    var wallClockAtZero: Double?
    /// Sends a report to the relay. Returns at once; safe to call from any thread. A report is lost while too many are
    /// waiting.
    var report: @Sendable (OutputReport) -> Void = { _ in }

    /// Tags that precede the next one of the program: headers, and the current group of pictures.
    var preamble: [FLVTag] { headers + group }
}

/// A report from an output to its relay.
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
