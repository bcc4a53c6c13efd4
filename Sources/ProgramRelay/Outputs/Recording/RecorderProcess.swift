import Foundation
import Synchronization

/// The body of `mixworker recorder`: writes a stream from a descriptor to files. Blocks the calling thread.
public enum RecorderProcess {
    /// Longest accepted line of settings, in bytes. Actual ones are far shorter.
    private static let longestLine = 1 << 20

    /// Reads until the end of the input, then closes the files.
    /// - Parameters:
    ///   - input: The stream, after a line of settings. If it is a socket, reports are sent over it.
    ///   - output: Descriptor for reports if `input` is not a socket.
    /// - Returns: `false` if the stream was unreadable, or if the recorder stopped before the end of the input because
    ///   of a failure or a limit of the recording.
    public static func run(input: Int32, output: Int32) throws -> Bool {
        var reports = output
        var type: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        if getsockopt(input, SOL_SOCKET, SO_TYPE, &type, &size) == 0 { reports = input }
        guard var bytes = read(input) else { return true }
        while !bytes.contains(0x0A) {
            guard bytes.count < longestLine, let more = read(input) else { break }
            bytes += more
        }
        let line = bytes.prefix { $0 != 0x0A }
        let settings = try JSONDecoder().decode(RecorderSettings.self, from: Data(line))
        let recorder = Recorder(settings: settings) { report in
            guard let data = try? JSONEncoder().encode(report) else { return }
            let text = [UInt8](data) + [0x0A]
            // The recording continues even if no process reads the report.
            _ = text.withUnsafeBytes { write(reports, $0.baseAddress, $0.count) }
        }
        var isReadable = true
        bytes.removeFirst(min(line.count + 1, bytes.count))
        while !recorder.isOver {
            do {
                try recorder.push(bytes)
            } catch {
                // The stream is unreadable: the files are closed, and the relay starts another recorder.
                isReadable = false
                break
            }
            guard let more = read(input) else { break }
            bytes = more
        }
        let hasFailed = recorder.isOver
        recorder.finish()
        return isReadable && !hasFailed
    }

    /// Writes the index of a file that a lost recorder left.
    /// - Returns: A description of the result.
    /// - Throws: `RecordingFailure` if the file cannot be opened or written.
    public static func index(_ path: String) throws -> String {
        guard let file = try RecordingFile.open(existing: path) else { return "\(path): is being written" }
        guard let (_, index) = file.readBack(), !index.isEmpty else {
            return "\(path): not a fragmented recording of this service"
        }
        try file.finish()
        return "\(path): indexed, \(Int(saturating: index.duration)) s"
    }

    private static func read(_ descriptor: Int32) -> [UInt8]? {
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 18) { buffer, filled in
            repeat {
                count = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
            } while count < 0 && errno == EINTR
            filled = max(count, 0)
        }
        return count > 0 ? bytes : nil
    }
}
