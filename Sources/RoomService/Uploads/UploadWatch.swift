import Foundation

/// Looks for finished files. Directories in which nothing has happened since everything in them was settled are left out.
struct UploadWatch: Sendable {
    /// What is left to do for a file.
    enum Judgement: Hashable { case settled, givenUp, due }

    /// Times of modification of the directories that can be left out, in ns since 1970, by the kind of files and the path.
    private var quiet: [String: Int64] = [:]
    /// Most directories that are remembered. Others are looked at each time.
    private let most: Int

    /// Age in seconds from which the time of modification of a directory tells one state from the next.
    private static let settling = 2.0

    init(most: Int = 100_000) { self.most = most }

    /// Number of directories that are left out.
    var quietCount: Int { quiet.count }

    /// Looks at all directories once. Blocks.
    ///
    /// - Parameters:
    ///   - now: Time in seconds since 1970.
    ///   - judge: Returns what is left to do for a file with these notes and this version.
    ///   - take: Takes a file for which something is left to do.
    mutating func look(
        in sources: [any UploadSource], now: Double, judge: (UploadNotes, String) -> Judgement,
        take: (UploadItem) -> Void
    ) {
        var next: [String: Int64] = [:]
        for source in sources {
            for directory in source.directories() {
                guard let modified = Self.modified(directory) else { continue }
                // Sources of several kinds may share a directory.
                let key = "\(source.kind.rawValue):\(directory)"
                var isQuiet = quiet[key] == modified
                if !isQuiet {
                    var hasGivenUp = false
                    let finding = source.look(in: directory, now: now) { notes, version in
                        let judgement = judge(notes, version)
                        if judgement == .givenUp { hasGivenUp = true }
                        return judgement != .due
                    }
                    for item in finding.items { take(item) }
                    isQuiet =
                        finding.items.isEmpty && !finding.isOpen && !hasGivenUp
                        && now - Double(modified) / 1e9 > Self.settling
                }
                if isQuiet, next.count < most { next[key] = modified }
            }
        }
        quiet = next
    }

    private static func modified(_ directory: String) -> Int64? {
        var status = stat()
        guard lstat(directory, &status) == 0 else { return nil }
        return Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
    }
}
