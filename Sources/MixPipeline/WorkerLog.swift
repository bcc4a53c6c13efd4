import Foundation
import Logging
import MixModel

/// The log of a worker's process: lines on standard error. What others wrote, as users' ids or answers of servers, begins
/// no line of its own.
public enum WorkerLog {
    public static func handler(label: String) -> any LogHandler {
        StreamLogHandler(label: label, stream: Lines { FileHandle.standardError.write(Data($0.utf8)) })
    }

    /// Takes a line at a time, as `StreamLogHandler` gives it.
    struct Lines: TextOutputStream, Sendable {
        let print: @Sendable (String) -> Void

        func write(_ line: String) {
            print(OneLine.of(line.endsInUTF8(with: "\n") ? String(line.dropLast()) : line) + "\n")
        }
    }
}
