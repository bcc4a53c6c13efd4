import Foundation
import PostgreSQLStore
import RoomService
import TaskStore
import TextFormats

/// The place where rooms, tasks and events are stored.
struct StoreConfiguration: Sendable {
    /// The PostgreSQL database; `nil` means the SQLite file in the data directory.
    var target: PostgreSQLTarget?
    /// Name that the database's cluster must have, or gets if it has none; `nil` = none.
    var cluster: String?
    var warnings: [String] = []
    /// Name of the data directory's owner; `nil` means machine and path.
    var identity: String?

    /// Text of `store.url` that selects the file in the data directory.
    private static let embedded = "sqlite:"

    /// - Parameter file: The configuration file.
    /// - Throws: `StartupError` that names the key. It quotes neither the URL nor the password.
    init(_ values: ConfigurationValues, file: String?) throws(StartupError) {
        let passwordFile = values.text("store.passwordFile")
        cluster = values.text("store.cluster")
        guard let url = values.secret("store.url"), url != Self.embedded else {
            for (key, isSet) in [("passwordFile", passwordFile != nil), ("cluster", cluster != nil)] where isSet {
                throw StartupError(
                    "configuration: store.\(key): found without a database; expected store.url "
                        + "postgresql://user@host/database as well")
            }
            return
        }
        guard cluster?.isPlainLabel ?? true else {
            throw StartupError(
                "configuration: store.cluster: expected 1 to 100 letters, digits, \"-\", \".\" and \"_\", as in eu-production"
            )
        }
        guard PostgreSQLTarget.schemes.contains(where: { url.hasPrefix($0) }) else {
            throw StartupError(
                "configuration: store.url: found another text; expected \"\(Self.embedded)\", the file in the data "
                    + "directory, or postgresql://user@host/database")
        }
        var password: String?
        if let passwordFile { password = try self.password(passwordFile) }
        do {
            target = try PostgreSQLTarget(url: url, password: password)
        } catch {
            throw StartupError("configuration: \(error)")
        }
        if password == nil, url.contains("@"), let file { warn(ofReaders: file) }
    }

    private mutating func password(_ path: String) throws(StartupError) -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw StartupError("configuration: store.passwordFile: found \"\(path)\"; expected a readable file")
        }
        let text = String(decoding: data.prefix(1 << 10), as: UTF8.self).trimmingCharacters(
            in: .whitespacesAndNewlines)
        guard 1...512 ~= text.utf8.count, !text.utf8.contains(0) else {
            throw StartupError(
                "configuration: store.passwordFile: found \(text.utf8.count) bytes in \"\(path)\"; expected 1 to 512")
        }
        warn(ofReaders: path)
        return text
    }

    private mutating func warn(ofReaders file: String) {
        guard let mode = try? FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int,
            mode & 0o007 != 0
        else { return }
        warnings.append("\(file) holds secrets and is open to every user of this machine: run chmod o= \(file)")
    }

    /// Returns the name under which a service with this data directory claims tasks, the same at every start.
    func nodeName(data: String) -> String {
        if let identity { return identity }
        return target == nil ? "local" : "\(ProcessInfo.processInfo.hostName) \(data)".shortened(toBytes: 200)
    }

    /// Returns a text that only runs with this data directory since one start of the machine have in common; `nil` for the
    /// file in the data directory, which no other machine uses. The directory's lock lets these runs exist one at a time.
    ///
    /// A copy of the directory has another inode or, on a copied volume, another device. A copy of the machine has another
    /// `boot_id` (random(4)), which the kernel makes at its start; containers of one machine have the same.
    func site(data: String) -> String? {
        guard target != nil else { return nil }
        var status = stat()
        guard let boot = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8),
            stat(data, &status) == 0
        else {
            // Nothing proves that another run has ended, so its lease has to.
            return UUID().uuidString
        }
        return "\(boot.prefix(36)) \(status.st_dev) \(status.st_ino)"
    }
}
