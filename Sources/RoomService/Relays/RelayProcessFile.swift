import Foundation

/// Records the process of a relay beside its socket, across restarts of this service: a relay that can no longer be
/// reached must not keep pushing beside its successor.
enum RelayProcessFile {
    /// Returns the path of a file beside a socket: the socket's path with another extension.
    static func path(_ socket: String, _ ending: String = ".pid") -> String {
        String(socket.endsInUTF8(with: ".sock") ? socket.dropLast(5) : socket[...]) + ending
    }

    /// Returns the directory of a socket, which identifies a process that runs several relays.
    static func directory(_ socket: String) -> String { (socket as NSString).deletingLastPathComponent }

    static func write(_ processID: Int32, socket: String) {
        // If the write fails, only this protection is lost; the start itself continues.
        try? "\(processID)\n".write(toFile: path(socket), atomically: true, encoding: .utf8)
    }

    static func remove(socket: String) { unlink(path(socket)) }

    /// Removes the file from which a relay continues the timestamps of a killed one, because the program is over.
    static func removeClock(socket: String) { unlink(path(socket, ".clock")) }

    /// Returns the process that was started for this socket, if it still runs. Compares its command line, because
    /// process identifiers are reused.
    static func runningProcess(socket: String) -> Int32? {
        guard let text = try? String(contentsOfFile: path(socket), encoding: .utf8),
            let processID = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)), processID > 1,
            let commandLine = FileManager.default.contents(atPath: "/proc/\(processID)/cmdline")
        else { return nil }
        let words = commandLine.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        // A relay that shares its process removes the file when it ends.
        return words.contains("relay") && (words.contains(socket) || words.contains(directory(socket)))
            ? processID : nil
    }
}
