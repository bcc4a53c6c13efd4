import Foundation
import RoomService

/// The files of sessions: `hundredms/` in the data directory, one for each. The functions access the disk and may block.
struct HMSFiles: Sendable {
    let directory: String
    private static let longest = 256 << 10

    /// - Throws: `StartupError` if the directory cannot be created.
    init(data: String) throws(StartupError) {
        directory = data + "/hundredms"
        do {
            // The files contain URLs with stream keys.
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StartupError("cannot make \(directory): \(error.localizedDescription)")
        }
    }

    private func path(_ id: String) -> String { "\(directory)/\(id).json" }

    /// Writes a session to the disk, so that acknowledged sessions continue after a crash.
    func write(_ session: HMSSession) throws {
        let file = path(session.id)
        let new = file + ".new"
        unlink(new)
        try BoundedFile.write(Array(JSONEncoder().encode(session)), to: new, mode: 0o600)
        guard rename(new, file) == 0 else { throw BoundedFile.Failure.system(errno) }
    }

    func remove(_ id: String) { unlink(path(id)) }

    /// Returns the sessions of earlier runs. Unreadable files are left in place.
    func found() -> [HMSSession] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.hasSuffix(".json") }.compactMap { name in
            let bytes = try? BoundedFile.read("\(directory)/\(name)", limit: Self.longest)
            let session = bytes.flatMap { try? JSONDecoder().decode(HMSSession.self, from: Data($0)) }
            // The name is part of paths.
            return session.flatMap { $0.id + ".json" == name ? $0 : nil }
        }
    }
}
