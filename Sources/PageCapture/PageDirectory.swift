import ChildProcesses
import Foundation

/// The directory of a page: the browser's profile and home, sockets, and the key of the display. Belongs to the user
/// that the browser runs as, and is removed with everything in it, even if this process is killed.
///
/// `@unchecked Sendable`: used on one thread at a time.
final class PageDirectory: @unchecked Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// A user account of the system.
    struct Account: Hashable, Sendable {
        var user: uid_t
        var group: gid_t
    }

    let path: String
    /// Owner of the directory; `nil` means the user of this process.
    let account: Account?
    private var keeper: FileHandle?

    /// Script that removes the directory, and the files that a killed display leaves, once its input is closed. An
    /// input line is the number of a display, or `done` if nothing is left to do.
    private static let keeping = """
        trap '' TERM INT HUP
        displays=
        while read -r line; do
            if [ "$line" = done ]; then exit 0; fi
            displays="$displays $line"
        done
        for round in 1 2 3 4 5 6; do
            for display in $displays; do
                # A display that chooses its number has no lock, but its socket is in this list while it listens.
                grep -q "/tmp/.X11-unix/X$display"'$' /proc/net/unix || rm -f "/tmp/.X11-unix/X$display"
            done
            rm -rf -- "$1"
            sleep 0.5
        done
        """

    /// Creates the directory. Call on a lasting thread; blocks.
    ///
    /// - Parameter user: Name of the owner; `nil` means the user of this process.
    /// - Throws: If there is no such user, or this user can enter none of the places for temporary files.
    init(user: String?) throws(Failure) {
        account = try user.map { name throws(Failure) in try Self.account(name) }
        let place = try PagePlace.first(for: account, among: PagePlace.all)
        let number = String(UInt64.random(in: .min ... .max), radix: 36)
        path = "\(place)/mixpage-\(number)"
        guard mkdir(path, 0o700) == 0 else {
            throw Failure(description: "\(path) cannot be made: \(String(cString: strerror(errno)))")
        }
        let pipe = ProcessLaunch.pipe()
        var launch = ProcessLaunch("/bin/sh", ["-c", Self.keeping, "sh", path])
        launch.environment = ["PATH": PagePrograms.path]
        launch.input = .descriptor(pipe.fileHandleForReading.fileDescriptor)
        (launch.output, launch.errors) = (.null, .null)
        do throws(ProcessLaunch.Failure) {
            // It ends by itself and is then reaped.
            try launch.start().onExit { _ in }
        } catch {
            rmdir(path)
            throw Failure(description: error.description)
        }
        try? pipe.fileHandleForReading.close()
        keeper = pipe.fileHandleForWriting
        try give(path)
        try write(XAuthority.bytes, to: "xauth")
    }

    private static func account(_ name: String) throws(Failure) -> Account {
        guard let entry = getpwnam(name) else {
            throw Failure(description: "there is no system user \(name): set pages.user to one of this machine")
        }
        return Account(user: entry.pointee.pw_uid, group: entry.pointee.pw_gid)
    }

    /// Creates the files that a start of the browser needs, in place of those that the previous start has left.
    ///
    /// - Parameter frameRate: Pictures per second of the stream.
    func renew(frameRate: Int) throws(Failure) {
        for name in ["profile", "home", "run", "pulse.sock", "pulse.sock.lock", "browser.log"] {
            try? FileManager.default.removeItem(atPath: "\(path)/\(name)")
        }
        for name in ["profile", "home", "run"] {
            guard mkdir("\(path)/\(name)", 0o700) == 0 else {
                throw Failure(description: "\(path)/\(name) cannot be made: \(String(cString: strerror(errno)))")
            }
            try give("\(path)/\(name)")
        }
        // A browser that saves its battery paints 30 times a second instead of 60, which halves its cost.
        guard frameRate <= 30 else { return }
        let state = #"{"performance_tuning":{"battery_saver_mode":{"state":3}}}"#
        try write(Array(state.utf8), to: "profile/Local State")
    }

    private func write(_ bytes: [UInt8], to name: String) throws(Failure) {
        let file = "\(path)/\(name)"
        guard
            FileManager.default.createFile(atPath: file, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
        else { throw Failure(description: "\(file) cannot be written") }
        try give(file)
    }

    private func give(_ file: String) throws(Failure) {
        guard let account, geteuid() == 0 else { return }
        guard lchown(file, account.user, account.group) == 0 else {
            throw Failure(description: "\(file) cannot be given to pages.user: \(String(cString: strerror(errno)))")
        }
    }

    /// Registers a display, whose files are removed if it does not remove them itself.
    func note(display: Int) { tell("\(display)") }

    /// Removes the directory. No process may be running in it.
    func remove() {
        try? FileManager.default.removeItem(atPath: path)
        tell("done")
        try? keeper?.close()
        keeper = nil
    }

    private func tell(_ line: String) { try? keeper?.write(contentsOf: Data("\(line)\n".utf8)) }
}

/// A key for a display, so that only users who can read the file can connect.
private enum XAuthority {
    /// Contents of an xauth(1) file with one key for every display (`FamilyWild`).
    static var bytes: [UInt8] {
        let key = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        return [0xFF, 0xFF] + field([]) + field([]) + field(Array("MIT-MAGIC-COOKIE-1".utf8)) + field(key)
    }

    private static func field(_ bytes: [UInt8]) -> [UInt8] { [0, UInt8(bytes.count)] + bytes }
}
