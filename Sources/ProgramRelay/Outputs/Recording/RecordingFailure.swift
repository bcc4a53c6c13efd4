import Foundation
import MixModel

/// The reason why a recording cannot continue.
struct RecordingFailure: Error, Hashable, CustomStringConvertible {
    var failure: ServiceState.Failure
    /// Whether another attempt may succeed.
    var isPassing = false

    var description: String { failure.message }

    init(_ code: String, _ message: String) { failure = ServiceState.Failure(code: code, message: message) }

    /// Creates a failure from an error number of the system.
    init(_ number: Int32, _ what: String, path: String) {
        let reason = String(cString: strerror(number))
        switch number {
        case ENOSPC, EDQUOT:
            self.init("disk_full", "\(path): \(reason). Free disk space and start the recording again")
        case EACCES, EPERM, EROFS:
            self.init(
                "directory_not_writable",
                "\(path): cannot \(what): \(reason). Give the service's user write permission there, or set recording.directory"
            )
        case ENOENT, ENOTDIR:
            self.init(
                "directory_missing",
                "\(path): cannot \(what): \(reason). Create the directory, or set recording.directory")
        default:
            self.init("write_failed", "\(path): cannot \(what): \(reason)")
            isPassing = true
        }
    }

    static func nearlyFull(_ path: String, free: Int64, keep: Int64) -> Self {
        Self(
            "disk_nearly_full",
            "\(path): \(free >> 20) MiB are free, and recording.keepFreeBytes keeps \(keep >> 20) MiB. Free disk space and start the recording again"
        )
    }

    static func removed(_ path: String) -> Self {
        Self("recording_removed", "\(path) was removed while it was written. Start the recording again")
    }
}
