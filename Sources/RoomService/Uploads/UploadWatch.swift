import Foundation

/// Searches for finished files. Skips directories that have not changed since everything in them was settled.
struct UploadWatch: Sendable {
    /// The verdict on a file: whether it still has to be uploaded.
    enum Judgement: Hashable { case settled, givenUp, due }

    /// Modification times of the directories that can be skipped, in ns since 1970, by kind of files and path.
    private var quiet: [String: Int64] = [:]
    /// Maximum number of directories that are remembered. Others are searched every time.
    private let most: Int

    /// Age in seconds from which a directory's modification time distinguishes one state from the next.
    private static let settling = 2.0

    init(most: Int = 100_000) { self.most = most }

    /// Number of directories that are skipped.
    var quietCount: Int { quiet.count }

    /// Searches all directories once. Blocks.
    ///
    /// - Parameters:
    ///   - now: Time in seconds since 1970.
    ///   - judge: Judges a file with these notes and this version.
    ///   - take: Takes a file that still has to be uploaded.
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
