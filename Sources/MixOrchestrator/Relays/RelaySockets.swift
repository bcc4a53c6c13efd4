import MixModel

/// Where relays listen: `relays/` in the data directory.
struct RelaySockets: Sendable {
    let directory: String

    /// The most that fits in `sockaddr_un` everywhere, with room to spare, in bytes.
    static let longestPath = 100

    /// - Throws: When the directory's path leaves no room for a name.
    init(directory: String) throws(StartupError) {
        guard directory.utf8.count + 1 + 16 + 5 <= Self.longestPath else {
            throw StartupError(
                "the data directory's path is too long for sockets: \(directory) has \(directory.utf8.count) bytes, "
                    + "at most \(Self.longestPath - 22) are possible. Name a shorter one with --data")
        }
        self.directory = directory
    }

    /// The task's own path, at most `longestPath` bytes: its id when that is a plain short word, otherwise a hash of it.
    func path(of task: TaskID) -> String {
        let id = task.rawValue
        let isPlain = id.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        let plain = "\(directory)/\(id).sock"
        if isPlain, plain.utf8.count <= Self.longestPath { return plain }
        // FNV-1a; `_` keeps it apart from plain ids. The relay names its task in its status, so a clash is noticed.
        let hash = id.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return "\(directory)/_\(String(hash, radix: 36)).sock"
    }
}

/// Something that keeps the service from starting, with the cure.
struct StartupError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
