import Foundation
import Logging
import TextFormats

/// The log of a worker's process: lines on standard error.
///
/// External text, such as users' ids or servers' responses, cannot begin a new line.
public enum WorkerLog {
    public static func handler(label: String) -> any LogHandler {
        StreamLogHandler(label: label, stream: Lines { FileHandle.standardError.write(Data($0.utf8)) })
    }

    /// Returns a handler that never waits for a slow disk or a full pipe.
    public static func handler(label: String, writer: LogWriter) -> any LogHandler {
        StreamLogHandler(label: label, stream: Lines { writer.write($0) })
    }

    /// Prints one line at a time, as `StreamLogHandler` passes it.
    struct Lines: TextOutputStream, Sendable {
        let print: @Sendable (String) -> Void

        func write(_ line: String) {
            print(OneLine.of(line.endsInUTF8(with: "\n") ? String(line.dropLast()) : line) + "\n")
        }
    }
}
