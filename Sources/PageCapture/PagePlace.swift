import Foundation

/// The places for the directories of pages.
///
/// A service may have its temporary files in a directory that only its own user can enter. A browser that runs as
/// another user must be able to enter every directory of the path.
enum PagePlace {
    /// The candidate directories, best first: `TMPDIR`, and those that are open to all users of a system.
    static var all: [String] {
        let own = ProcessInfo.processInfo.environment["TMPDIR"].map { [$0] } ?? []
        return own.filter { $0.hasPrefix("/") } + ["/tmp", "/var/tmp"]
    }

    /// Returns the first directory that a user can enter.
    ///
    /// - Parameters:
    ///   - account: The user that runs the browser; `nil` means the user of this process, who can enter the first
    ///     directory that exists.
    ///   - places: Absolute paths.
    /// - Throws: `Failure` if there is none.
    static func first(
        for account: PageDirectory.Account?, among places: [String]
    ) throws(PageDirectory.Failure) -> String {
        for place in places where isOpen(place, to: account) { return place }
        throw PageDirectory.Failure(
            description: """
                pages.user can enter none of \(places.joined(separator: ", ")): set TMPDIR of the service to a directory that \
                this user can enter (chmod o+x on each directory of its path)
                """)
    }

    private static func isOpen(_ place: String, to account: PageDirectory.Account?) -> Bool {
        guard let account, geteuid() == 0, account.user != 0 else { return access(place, X_OK) == 0 }
        var url = URL(filePath: place).resolvingSymlinksInPath()
        while true {
            guard mayEnter(url.path, account) else { return false }
            guard url.path != "/" else { return true }
            url.deleteLastPathComponent()
        }
    }

    /// Returns whether a user can enter a directory, by the classes of path_resolution(7), without supplementary
    /// groups, which the browser's process gives up.
    private static func mayEnter(_ directory: String, _ account: PageDirectory.Account) -> Bool {
        var status = stat()
        guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return false }
        if status.st_uid == account.user { return status.st_mode & S_IXUSR != 0 }
        if status.st_gid == account.group { return status.st_mode & S_IXGRP != 0 }
        return status.st_mode & S_IXOTH != 0
    }
}
