import Foundation
import Logging

/// Writes every line to standard error, whole and redacted. Lines about a room, a task, an event or a request have
/// `room`, `task`, `event` and `request` in their metadata.
package struct ServiceLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var logLevel: Logger.Level
    private let format: LogFormat
    private let write: @Sendable (String) -> Void

    init(
        format: LogFormat, level: Logger.Level,
        write: @escaping @Sendable (String) -> Void = Self.writeToStandardError
    ) {
        self.format = format
        self.write = write
        logLevel = level
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Installs the handler for every logger of the process, including those of libraries.
    package static func bootstrap(format: LogFormat, level: Logger.Level) {
        LoggingSystem.bootstrap { _ in ServiceLogHandler(format: format, level: level) }
    }

    package func log(event: LogEvent) {
        var all = metadata
        for (key, value) in event.metadata ?? [:] { all[key] = value }
        if let error = event.error { all["error"] = "\(error)" }
        let line = LogLine(
            time: Date(), level: event.level, metadata: all.sorted { $0.key < $1.key }, message: "\(event.message)")
        write(line.text(as: format))
    }

    /// Writes a line with one call, so that lines of several threads do not mix.
    @Sendable static func writeToStandardError(_ line: String) {
        var bytes = Array((line + "\n").utf8)
        bytes.withUnsafeMutableBytes { buffer in
            var start = 0
            while start < buffer.count {
                let count = Foundation.write(2, buffer.baseAddress?.advanced(by: start), buffer.count - start)
                if count <= 0 { return }
                start += count
            }
        }
    }
}
